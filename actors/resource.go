package actors

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/ledger"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// What the shard sends to a resource.
type (
	// load gives the actor its state, at first and again after a panic. The memory of ended requests and the sessions
	// stay the term's: resources run on the shard's goroutine.
	load struct {
		resource string
		image    lease.Image
		ended    *lease.EndedRequests
		sessions *lease.Sessions
	}
	// inspection asks for the resource's queue. The answer is there when the shard has sent it, as with a decision.
	inspection struct {
		now     lease.Time
		waiters []*messages.Waiter
	}
	// snapshot asks for the image of a resource whose actor stops. It is there at once, too.
	snapshot struct{ image lease.Image }
	// decision is an event for the resource, and what the event led to. A resource runs on its shard's
	// goroutine, so it has decided when the shard has sent the decision.
	decision struct {
		activation *activation
		request    *Request
		// made: the resource has decided, as the fields below say. Otherwise it has panicked.
		made    bool
		at      lease.Instant
		outcome lease.Outcome
		// wake and waiting are the resource's after the event.
		wake    lease.Instant
		waiting int
		// ephemeral are the resource's ephemeral leases.
		ephemeral []lease.Lease
		// reload: there was no event. The resource panicked, and gets its state back when everything
		// that it decided before is confirmed.
		reload bool
	}
)

// ephemeralShared returns how many of the resource's ephemeral leases are shared.
func (d *decision) ephemeralShared() (n int) {
	for _, h := range d.ephemeral {
		if h.Grant.GetLimit() > 1 {
			n++
		}
	}
	return n
}

// weight estimates the bytes of the decision's changes when stored.
func (d *decision) weight() (bytes int) {
	for _, c := range d.outcome.Changes {
		bytes += ledger.Weight(c)
	}
	return bytes
}

// isBatched reports whether the first answer goes to a batch.
func (d *decision) isBatched() bool {
	return len(d.outcome.Answers) > 0 && d.outcome.Answers[0].To.Batched
}

// mustCommit reports whether the journal has to confirm the decision before its answers may leave.
func (d *decision) mustCommit() bool {
	switch {
	case d.reload || len(d.outcome.Changes) > 0:
		return true
	case d.outcome.Ephemeral && d.activation.unconfirmed == 0:
		return false
	default:
		return slices.ContainsFunc(d.outcome.Answers, func(a lease.Answer) bool { return !a.Stale })
	}
}

// retract turns grants of a decision into answers that say how their leases have ended, if they have done so in the commit
// that confirms them, so long after the decision: nothing was confirmed for longer than their time.
func (d *decision) retract(c *journal.Commit, after time.Duration) {
	for _, a := range d.outcome.Answers {
		l := a.Reply.GetLease()
		if a.Reply.GetStatus() != messages.Status_GRANTED || after < time.Duration(l.GetRemainingMs())*time.Millisecond {
			continue
		}
		switch lastChange(c, d.activation.resource, l.GetToken()) {
		case messages.Event_RELEASED:
			a.Reply.Status = messages.Status_RELEASED
		case messages.Event_EXPIRED, messages.Event_BROKEN:
			a.Reply.Status = messages.Status_EXPIRED
		default:
			continue
		}
		a.Reply.Lease = &messages.Lease{Resource: l.GetResource(), Owner: l.GetOwner(), Token: l.GetToken(), Fence: l.GetFence()}
	}
}

// lastChange returns the kind of the last change of a lease in a commit.
func lastChange(c *journal.Commit, resource string, token uint64) (kind messages.Event_Kind) {
	for _, x := range c.GetChanges() {
		if x.GetGrant().GetToken() == token && x.Name() == resource && x.GetKind() != messages.Event_CONFIRMED {
			kind = x.GetKind()
		}
	}
	return kind
}

// resourceActor is the actor of one resource: a shell over the state machine of package lease.
type resourceActor struct {
	clock Clock
	log   *slog.Logger
	// state is what it is once it is loaded.
	state  lease.State
	loaded bool
}

// Receive implements actor.Actor.
func (r *resourceActor) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *load:
		r.state, r.loaded = *lease.New(m.resource, m.image, m.ended, m.sessions), true
	case *decision:
		r.decide(m)
	case *inspection:
		m.waiters = r.state.Waiters(m.now)
	case *snapshot:
		m.image = r.state.Image()
	}
}

func (r *resourceActor) decide(d *decision) {
	defer r.reportPanic(d)
	if !r.loaded {
		panic("a resource without a state") // the shard holds its events back: a bug
	}
	now := r.clock.Now()
	d.at, d.outcome = now.Instant, r.state.Step(now, d.request.Event)
	d.wake, d.waiting = r.state.Wake(), r.state.Waiting()
	d.ephemeral = r.state.Ephemeral()
	d.made = true
}

// reportPanic logs the stack, and lets the panic go on to the supervisor, which restarts the actor.
func (r *resourceActor) reportPanic(d *decision) {
	reason := recover()
	if reason == nil {
		return
	}
	r.log.Error("panic in a resource; the request that caused it is lost, the resource restarts from the journal",
		append(resourceAttributes(d.activation.resource), "event", fmt.Sprintf("%T", d.request.Event),
			"panic", reason, "stack", string(debug.Stack()))...)
	panic(reason)
}
