package lease

import (
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// past is what is known of the requests of one resource that have ended. The image knows that of the last grant, and
// those of the lost leases that hold the resource back, also if they ended before the shard was opened.
type past struct {
	resource string
	// shard has the requests that have ended since the shard was opened.
	shard *EndedRequests
	// noted is when shard has noted the end of the last grant; 0: it has not.
	noted Instant
}

// end notes the end of a lease.
func (p *past) end(now Instant, g *journal.Grant, how messages.Event_Kind, isLast bool) {
	p.shard.End(now, g, how)
	if isLast {
		p.noted = now
	}
}

// keep keeps the end of a lease remembered that leaves the image. It may have ended before the shard was opened.
func (p *past) keep(now Instant, l Lease) {
	if !p.shard.remembers(l.Grant) {
		p.shard.End(now, l.Grant, l.How)
	}
}

// keepLast is [past.keep] for the last grant, which the next one is about to replace.
func (p *past) keepLast(now Instant, last Lease) {
	if last.Grant != nil && !last.isHeld() && !p.shard.remembersSince(p.noted) {
		p.keep(now, last)
	}
}

// recallAcquire returns how the request of an acquire has ended, see [past.recall], and reports then whether the sender
// has its secret. A copy without the secret is known by the hash, a repetition without the hash by the secret.
func (p *past) recallAcquire(i *Image, r *messages.AcquireRequest) (e ended, ok, proved bool) {
	id := r.GetRequestId()
	e, ok = p.recall(i, caller{r.GetOwner(), r.GetSecretHash()}, id)
	if !ok && len(r.GetSecretHash()) == 0 && len(r.GetSecret()) > 0 {
		e, ok = p.recall(i, requester(r), id)
	}
	return e, ok, ok && requester(r).opens(r.GetSecretHash())
}

// recallRelease returns how the request of a release has ended: the caller's, or one that has no secret.
func (p *past) recallRelease(i *Image, who caller, id string) (e ended, ok bool) {
	if e, ok = p.recall(i, who, id); !ok && len(who.hash) > 0 {
		e, ok = p.recall(i, caller{owner: who.owner}, id)
	}
	return e, ok
}

// recall returns how a request with the caller's hash has ended that was not granted one of the present leases, see
// [Image.granted]; false if it has not ended, or is not remembered.
func (p *past) recall(i *Image, who caller, id string) (ended, bool) {
	if id == "" {
		return ended{}, false
	}
	if last := i.Last(); last.Grant.GetRequestId() == id && who.is(last.Grant) {
		return newEnded(last.Grant, last.How), true
	}
	if i.HeldBack() {
		for l := range i.Lost() {
			if l.Grant.GetRequestId() == id && who.is(l.Grant) {
				return newEnded(l.Grant, l.How), true
			}
		}
	}
	return p.shard.find(keyOf(p.resource, who, id))
}

// howEnded returns how an owner's lease has ended, if that is known: the last one of the resource, without a token only
// while it is free, one that holds the resource back, and an earlier one that was shared as long as it is remembered.
func (p *past) howEnded(i *Image, who caller, token uint64) (messages.Event_Kind, bool) {
	for l := range i.Lost() {
		if who.owns(l.Grant) && token != 0 && (token == l.Grant.GetToken() || token == l.Grant.GetFormer()) {
			return l.How, true
		}
	}
	last := i.Last()
	switch free := !i.Held(); {
	case !last.isHeld() && (free || token != 0) && i.lastOf(who, token):
		return last.How, true
	case token == 0:
		return 0, false
	}
	e, ok := p.shard.findToken(p.resource, who, token)
	return e.how, ok
}

// withdraw notes that a request of the caller may not be granted if it comes yet, unless it has ended or is granted.
// Nothing that others do without its secret stands in the way.
func (p *past) withdraw(now Instant, i *Image, who caller, id string) {
	if id == "" {
		return
	}
	if _, held := i.granted(who, id); held {
		return
	}
	if _, known := p.recall(i, who, id); !known {
		p.shard.add(now, keyOf(p.resource, who, id), ended{})
	}
}
