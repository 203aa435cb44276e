package lease

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-io/holdfast/messages"
)

// reply is an answer with nothing but a status, and with how many wait.
func (t *turn) reply(status messages.Status) *messages.Reply {
	return &messages.Reply{Status: status, Waiting: uint32(t.Waiting())}
}

// replyLease is an answer that shows one lease.
func (t *turn) replyLease(status messages.Status, h Lease) *messages.Reply {
	r := t.reply(status)
	r.Lease = t.sessions.Lease(h, t.now.Instant)
	return r
}

// maxShownBytes bounds the holders in an answer by what they take when they are stored. In JSON, where a byte may
// become six, an answer is below 512 KB all the same.
const maxShownBytes = 64 << 10

// replyTaken is an answer that shows why the resource cannot be had: who holds it, or the first of the ended leases that
// hold it back, and how long all of them do.
func (t *turn) replyTaken() *messages.Reply {
	r := t.reply(messages.Status_HELD)
	t.showHolders(r)
	ended := slices.Collect(t.image.Ended())
	if len(ended) == 0 {
		r.Lease = r.Holders[0]
		return r
	}
	last := slices.MaxFunc(ended, func(x, y Lease) int { return cmp.Compare(x.Deadline, y.Deadline) })
	r.Status, r.Lease, r.LeftMs = messages.Status_HELD_BACK, ended[0].Grant.Lease(0), last.delayLeft(t.now.Instant)
	return r
}

// showHolders adds to an answer who holds the resource.
func (t *turn) showHolders(r *messages.Reply) {
	bytes := 0
	for h := range t.image.Holdings() {
		bytes += h.Grant.Weight()
		if len(r.Holders) == maxShown || len(r.Holders) > 0 && bytes > maxShownBytes {
			break
		}
		r.Holders = append(r.Holders, t.sessions.Lease(h, t.now.Instant))
	}
	r.Held = uint32(t.image.Permits())
}

func (t *turn) overloaded(why string) *messages.Reply {
	r := t.reply(messages.Status_OVERLOADED)
	r.Error = why
	return r
}

func (t *turn) exhausted() *messages.Reply {
	r := t.reply(messages.Status_EXHAUSTED)
	r.Error = fmt.Sprintf("resource %q: its tokens have reached %d, and the last one is %d; use another name",
		t.name(), t.image.Token(), messages.MaxToken)
	return r
}

// confirm answers a holder. A request from it shows that it knows of its lease, which is then acknowledged.
func (t *turn) confirm(to messages.ReplyTo, status messages.Status, h Lease) {
	t.unacknowledged.remove(h.token())
	r := t.replyLease(status, h)
	if r.Order = h.Grant.GetExtendOrder(); status == messages.Status_UPDATED {
		r.Order = h.Grant.GetSetOrder()
	}
	t.answer(to, r)
}

// notOwner is the answer to others than the owner. It is the same whether the name or the secret is another one.
func (t *turn) notOwner() *messages.Reply {
	if !t.image.Held() {
		return t.reply(messages.Status_NOT_OWNER)
	}
	return t.replyLease(messages.Status_NOT_OWNER, t.image.first())
}

// over returns the answer to an acquire whose request has ended, nil if it has not: a late copy of a
// request must not take a lock for which nothing waits any more.
func (t *turn) over(r *messages.AcquireRequest) *messages.Reply {
	e, ok, proved := t.past.recallAcquire(&t.image, r)
	switch {
	case !ok:
		return nil
	case !e.granted():
		return t.reply(messages.Status_CANCELLED)
	case !proved:
		return t.notOwner()
	}
	reply := t.reply(e.status())
	reply.Lease = &messages.Lease{
		Resource: t.name(), Owner: r.GetOwner(), Token: uint64(e.token), Fence: e.fence().String(),
	}
	return reply
}

func invalid(err error) *messages.Reply { return messages.Refuse(messages.Status_INVALID, err) }
