package linear

import (
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// resolve returns what the operations of one resource are to the model: one step for each effect that
// they had, and one for each answer. What was sent without an answer is looked up in the journal; if it
// is not there, it never happened.
//
//   - An acquire had each grant that stands under its id. The same id may have several: after a change of
//     owner, a request that had ended before the last grant is a new one.
//   - An extension is known by its TTL, a break by its reason. They have happened as often as they stand
//     there.
//   - What a late extension added is known by how many tokens the lease has then, and has happened once.
//   - A release is not distinguished from another one of the same lease, so it may have happened, until the end of
//     the lease is seen.
//   - A grant that reached no client is taken back by the service, which counts as a release.
//
// What happened without an answer is over when the first answer comes that shows it, or of anything
// behind it. In the same way the journal shows of what was answered that it came after one change and before
// another, which leaves the search less to try. An answer to one sending of a request says nothing about the others:
// each has its own effect.
//
// The life is what the journal has of the resource. Without one an unknown outcome stays unknown, which is
// costly for the checker, and makes it blind.
func resolve(operations []Operation, l *life) []Operation {
	r := resolver{life: l}
	if l != nil {
		a := newAnswers(operations, l, 0)
		r.seen, r.notBefore, r.acquires, r.releases = a.seen, a.notBefore(), a.acquires, a.releases
	}
	for i := range operations {
		if o := &operations[i]; o.Status != 0 && !o.failed() && !o.Stale {
			r.answered(*o)
		}
	}
	if l == nil {
		r.unknown(operations)
		return r.steps
	}
	r.acquired(operations)
	for i := range operations {
		if o := &operations[i]; o.Open > 0 {
			r.open(o)
		}
	}
	return r.steps
}

// mostCopies is how many sendings of one operation are steps that had the same effect without an answer. To the model they
// are the same, and each does again what the former one did, so more would explain nothing that these do not, unless as
// many others come in between. The search would try all subsets of them: of 22 there are four million.
const mostCopies = 3

// resolver collects the steps of one resource.
type resolver struct {
	*life
	// seen and notBefore are the bounds of each change.
	seen, notBefore []time.Duration
	acquires        map[asked][]*Operation
	releases        map[string][]*Operation
	steps           []Operation
}

// answered adds what was answered. It was decided behind the sending that was answered; but what may have
// been granted, or queued, by an earlier one counts from the first.
func (r *resolver) answered(o Operation) {
	if o.Kind != messages.OpAcquire || o.Status == messages.Status_HELD {
		o.Call = o.Last
	}
	if r.life != nil {
		r.narrow(&o)
	}
	r.steps = append(r.steps, o)
}

// unknown adds what may have happened, of which no journal shows anything.
func (r *resolver) unknown(operations []Operation) {
	for _, o := range operations {
		own := o.late() && o.Open == 1 // its grant is taken for that of another sending
		if o.Open == 0 || own || o.Kind == messages.OpGet || o.granted() {
			continue
		}
		o = o.Unanswered()
		o.Return = Never
		r.steps = append(r.steps, o)
	}
}

// happened adds an effect without an answer of its own, which had come by the time that its change was
// seen. If that was before it was asked for, the check of the answers says so.
func (r *resolver) happened(o Operation, at int, status messages.Status) {
	g := r.changes[at].GetGrant()
	o.Holders, o.Call = nil, max(o.Call, r.notBefore[at])
	o.Status, o.Shown, o.Highest, o.Return = status, shownAs(g), g.GetExtendOrder(), max(r.seen[at], o.Call)
	if status == messages.Status_UPDATED {
		o.Highest = g.GetSetOrder()
	}
	r.steps = append(r.steps, o)
}

// since is like happened, of what came behind another change.
func (r *resolver) since(o Operation, from, at int, status messages.Status) {
	r.happened(o, at, status)
	last := &r.steps[len(r.steps)-1]
	last.Call = max(o.Call, r.notBefore[from])
}

// ownGrant is a grant whose own request was answered with it. A reentrant one may be answered with another's.
type ownGrant struct {
	asked
	token uint64
}

// wasAnswered reports whether a request was answered with a grant that it had asked for before it was seen. A client
// that asks again later, under the same id, is answered with it too, but did not bring it about.
func wasAnswered(since map[ownGrant]time.Duration, grant ownGrant, seen time.Duration) bool {
	asked, ok := since[grant]
	return ok && asked <= seen
}

// acquired adds the grants without an answer, and those that were taken back.
func (r *resolver) acquired(operations []Operation) {
	told := make(map[ownGrant]time.Duration) // when the request was sent that was answered
	first := make(map[asked]*Operation)
	for i := range operations {
		o := &operations[i]
		if o.Kind != messages.OpAcquire {
			continue
		}
		id := asked{o.Owner, o.RequestID}
		grant := ownGrant{id, o.Shown.Token}
		if _, known := told[grant]; o.granted() && !known {
			told[grant] = o.Call // they are in the order in which they were sent
		}
		if first[id] == nil {
			first[id] = o
		}
	}
	for at, c := range r.changes {
		g := c.GetGrant()
		id := asked{g.GetOwner(), g.GetRequestId()}
		o := first[id]
		switch {
		case o == nil:
		case c.GetKind() == messages.Event_ACQUIRED && g.GetFormer() == 0 &&
			!wasAnswered(told, ownGrant{id, g.GetToken()}, r.seen[at]):
			granted := *o
			granted.TTL = g.GetTtlMs()
			r.happened(granted, at, messages.Status_GRANTED)
		case c.bounced():
			back := Operation{
				Client: o.Client, Resource: o.Resource, Kind: messages.OpRelease, Owner: o.Owner, Token: g.GetToken(),
				Call: o.Call, withdraws: true,
			}
			r.happened(back, at, messages.Status_RELEASED)
		}
	}
}

// open adds what an operation did without an answer, other than a grant.
func (r *resolver) open(o *Operation) {
	switch o.Kind {
	case messages.OpAcquire:
		if o.Reentrant {
			r.extensions(o, messages.Status_GRANTED)
		}
	case messages.OpExtend:
		r.extensions(o, messages.Status_EXTENDED)
	case messages.OpSet:
		r.sets(o)
	case messages.OpEnd:
		if o.Orphan {
			r.orphans(o)
		} else {
			r.freed(o)
		}
	case messages.OpRelease:
		r.freed(o)
	case messages.OpBreak:
		r.breaks(o)
	case messages.OpConfirm:
		if at, ok := r.confirmed[r.named(o.Token)]; ok && r.changes[at].GetReason() == o.Reason {
			r.maybe(o, at)
		}
	}
}

func (r *resolver) extensions(o *Operation, status messages.Status) {
	downgrade, downgraded := r.downgradeOf(o)
	if downgraded && o.Status != status {
		r.happened(*o, downgrade, status)
	}
	for id, at := range r.grown {
		if g := r.changes[at].GetGrant(); o.Kind == messages.OpExtend && id.tokens == o.Tokens &&
			g.GetOwner() == o.Owner && o.names(g) {
			r.happened(*o, at, status) // once more changes nothing
		}
	}
	for id, places := range r.extended {
		if id.ttl != o.TTL || r.changes[places[0]].GetGrant().GetOwner() != o.Owner ||
			!o.names(r.changes[places[0]].GetGrant()) {
			continue
		}
		n := len(places)
		switch {
		case o.Status != status, o.overtaken(), id.token != o.Shown.Token:
		case downgraded: // one of them, or the downgrade, is the answer's, which is the first to the model
			for range min(n, mostCopies) {
				r.since(*o, downgrade, slices.Max(places), status)
			}
			continue
		default:
			n-- // one of them is the answer's
		}
		for range min(n, mostCopies) {
			r.happened(*o, slices.Max(places), status)
		}
	}
}

// sets adds the sets of a value that came without an answer.
func (r *resolver) sets(o *Operation) {
	for id, places := range r.updated {
		if id.value != o.Value || !o.names(r.changes[places[0]].GetGrant()) {
			continue
		}
		n := len(places) // the sending that was answered may have found the value there, and changed nothing
		if o.Status == messages.Status_UPDATED && o.Open == 0 && !o.overtaken() {
			n-- // one of them is the answer's
		}
		for range min(n, mostCopies) {
			r.happened(*o, slices.Max(places), messages.Status_UPDATED)
		}
	}
}

func (r *resolver) freed(o *Operation) {
	for _, at := range r.ended {
		c := r.changes[at]
		mine := c.GetGrant().GetOwner() == o.Owner && o.names(c.GetGrant()) && !c.downgrades() &&
			(!o.named() || o.RequestID == c.GetGrant().GetRequestId())
		if mine && c.GetKind() == messages.Event_RELEASED && !c.bounced() {
			r.maybe(o, at)
		}
	}
}

func (r *resolver) breaks(o *Operation) {
	if at, ok := r.ended[r.named(o.Token)]; ok && r.changes[at].GetReason() == o.Reason &&
		r.changes[at].GetKind() == messages.Event_BROKEN {
		r.maybe(o, at)
	}
}

// maybe adds an end of the lease that may be this operation's, unless it had come before.
func (r *resolver) maybe(o *Operation, at int) {
	if r.seen[at] < o.Call {
		return
	}
	may := o.Unanswered()
	may.Token, may.RequestID, may.withdraws = r.changes[at].GetGrant().GetToken(), "", o.named()
	may.Call = max(o.Call, r.notBefore[at])
	may.Return = max(r.seen[at], may.Call)
	r.steps = append(r.steps, may)
}
