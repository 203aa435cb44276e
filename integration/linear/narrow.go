package linear

import (
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// handover is by how much a wait may come out shorter where what is left of it is handed on.
const handover = 20 * time.Millisecond

// narrow bounds when an answer was decided by the changes between which it must have been. Requests that
// wait are open for long, and the search tries all orders of what is open at once, so this is what makes
// it end.
func (r *resolver) narrow(o *Operation) {
	switch o.Kind {
	case messages.OpConfirm:
		r.confirmation(o)
		return
	case messages.OpEnd: // its lease may have left the session, or go on by itself
		return
	}
	if o.overtaken() {
		r.between(o, r.granted, o.Shown.Token, r.ended, o.Shown.Token)
		return
	}
	switch o.Status {
	case messages.Status_HELD_BACK:
		r.between(o, r.ended, o.Shown.Token, r.over, o.Shown.Token)
	case messages.Status_GRANTED, messages.Status_HELD, messages.Status_NOT_OWNER, messages.Status_STALE_TOKEN:
		r.between(o, r.granted, o.Shown.Token, r.ended, o.Shown.Token)
		for _, l := range o.Holders {
			r.between(o, r.granted, l.Token, r.ended, l.Token)
		}
		if at, ok := r.granted[o.Shown.Token]; ok && o.granted() && r.only(o) {
			r.clamp(o, 0, r.seen[at])
		}
	case messages.Status_EXTENDED:
		extensions := r.extended[extension{o.Shown.Token, o.TTL}]
		at, downgraded := r.downgradeOf(o)
		switch {
		case downgraded && len(extensions) == 0:
			r.clamp(o, r.notBefore[at], r.seen[at])
		case !downgraded && len(extensions) == 1:
			r.clamp(o, r.notBefore[extensions[0]], r.seen[extensions[0]])
		}
	case messages.Status_UPDATED:
		if updates := r.updated[update{o.Shown.Token, o.Value}]; len(updates) == 1 {
			r.clamp(o, r.notBefore[updates[0]], r.seen[updates[0]])
		}
	case messages.Status_FREE:
		r.between(o, r.ended, r.named(o.Shown.Token), r.granted, o.Shown.Token+1)
	case messages.Status_RELEASED, messages.Status_EXPIRED:
		if at, ok := r.ended[o.Shown.Token]; ok && o.late() {
			r.clamp(o, r.notBefore[at], Never)
		} else if at, ok := r.ended[r.now(o.Token)]; ok && r.isShared(o.Token) {
			r.clamp(o, r.notBefore[at], Never) // that is remembered beside later grants
		} else if o.Token != 0 {
			r.between(o, r.ended, r.named(o.Token), r.granted, r.next(o.Token))
		}
	case messages.Status_TIMEOUT:
		r.clamp(o, o.Call+millis(o.Wait)-handover, Never)
	case messages.Status_CANCELLED:
		r.clamp(o, withdrawalOf(o, r.releases), Never)
	}
}

// confirmation bounds when a confirmation was decided.
func (r *resolver) confirmation(o *Operation) {
	switch at, lost := r.ended[o.Shown.Token]; {
	case o.Status == messages.Status_RELEASED: // a repetition comes later
		r.between(o, r.ended, r.named(o.Token), r.granted, r.next(o.Token))
	case o.Status == messages.Status_STALE_TOKEN && lost && r.changes[at].leavesAHold():
		r.between(o, r.granted, o.Shown.Token, r.over, o.Shown.Token)
	case o.Status == messages.Status_STALE_TOKEN:
		r.between(o, r.granted, o.Shown.Token, r.ended, o.Shown.Token)
	}
}

// only reports whether the grant can only be this operation's, so that it was decided with it.
func (r *resolver) only(o *Operation) bool {
	return !o.Reentrant && len(r.acquires[asked{o.Owner, o.RequestID}]) == 1
}

// between bounds the operation by the change that it shows, and by the one that it does not.
func (r *resolver) between(o *Operation, after map[uint64]int, a uint64, before map[uint64]int, b uint64) {
	from, to := time.Duration(0), Never
	if at, ok := after[a]; ok {
		from = r.notBefore[at]
	}
	if at, ok := before[b]; ok {
		to = r.seen[at]
	}
	r.clamp(o, from, to)
}

// clamp leaves the operation as it is if the bounds contradict it: then it is wrong, and the search says
// so.
func (r *resolver) clamp(o *Operation, from, to time.Duration) {
	from, to = max(from, o.Call), min(to, o.Return)
	if from <= to {
		o.Call, o.Return = from, to
	}
}
