package actors

import (
	"container/list"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/holdfast-io/holdfast/actors/lease"
)

// seat is a resource's place in its shard: for every resource that has an actor, or an alarm. It
// belongs to the shard; to the resource actor it is only a stamp on what it sends.
type seat struct {
	tenure   *tenure
	resource string
	// pid is the resource's actor, nil while it has none.
	pid *actor.PID
	// busy counts what was sent to the actor and is not yet done with; unconfirmed, what of that
	// was decided and waits for the journal.
	busy, unconfirmed int
	// volatile: the resource has an ephemeral lease, which only its actor knows.
	volatile bool
	// waiting is how many requests are queued in the actor.
	waiting int
	// loading: the actor panicked and has not got its state back; held is what waits for that.
	loading bool
	held    []*Request
	// used is when the actor last decided something; idle is its place in the order of that.
	used lease.Instant
	idle *list.Element
	// wake is when the resource wants a tick; alarm is its place in the heap, from 1; 0: none.
	wake  lease.Instant
	alarm int
}

// seat returns the resource's seat, with an actor in it.
func (t *tenure) seat(ctx actor.Context, resource string) *seat {
	s, ok := t.seats[resource]
	if !ok {
		s = &seat{tenure: t, resource: resource}
		t.seats[resource] = s
	}
	if s.pid == nil {
		t.seatActor(ctx, s)
	}
	return s
}

// seatActor starts an actor for the resource. The ledger knows all of its state, since a seat
// loses its actor only when everything that it decided is confirmed.
func (t *tenure) seatActor(ctx actor.Context, s *seat) {
	t.spawned++
	pid, err := ctx.SpawnNamed(t.props, fmt.Sprintf("%d-%d", t.ledger.Head().Epoch, t.spawned))
	if err != nil {
		panic(fmt.Errorf("resource actor: %w", err)) // the name is new, so it cannot be taken
	}
	s.pid = pid
	s.idle = t.idle.PushBack(s)
	t.shard.actors.Store(int64(t.idle.Len()))
	ctx.Send(pid, &load{seat: s, image: t.ledger.Image(s.resource), past: t.past})
}

// send hands the resource an event. Every one comes back as a decision.
func (t *tenure) send(ctx actor.Context, s *seat, r *Request) {
	s.busy++
	t.busy++
	if s.loading {
		s.held = append(s.held, r)
		return
	}
	ctx.Send(s.pid, &visit{seat: s, request: r})
}

// done notes that an event has come back, and nothing of it is unconfirmed.
func (t *tenure) done(s *seat) {
	s.busy--
	t.busy--
}

// reload gives an actor that panicked its state back, and what it missed. If it was its tick that
// panicked, the alarm is gone; set anew, it leaves a while, lest one that always panics does nothing else.
func (t *tenure) reload(ctx actor.Context, s *seat) {
	image := t.ledger.Image(s.resource)
	ctx.Send(s.pid, &load{seat: s, image: image, past: t.past})
	if image.Held() {
		t.alarms.set(s, max(image.Deadline, t.shard.cfg.Clock.Now().Add(t.shard.cfg.Tuning.ReopenAfter)))
		t.arm()
	}
	s.loading = false
	for _, r := range s.held {
		ctx.Send(s.pid, &visit{seat: s, request: r})
	}
	s.held = nil
}

// touch notes that the resource was used.
func (t *tenure) touch(s *seat, now lease.Instant) {
	s.used = now
	t.idle.MoveToBack(s.idle)
}

// seatsAtOnce bounds how many actors are stopped in one go, so that nobody waits for it.
const seatsAtOnce = 1000

// passivate stops the actors that have been idle for long, and reports whether there are more. Their
// mailboxes are empty: nobody but the shard writes to them, and all that it wrote has come back
// confirmed.
func (t *tenure) passivate(ctx actor.Context, now lease.Instant) (more bool) {
	before := now.Add(-t.shard.cfg.Tuning.IdleAfter)
	e := t.idle.Front()
	for range seatsAtOnce {
		if e == nil || e.Value.(*seat).used > before {
			return false
		}
		s := e.Value.(*seat)
		e = e.Next()
		if s.busy == 0 && s.waiting == 0 && !s.volatile {
			t.unseatActor(ctx, s)
		} else {
			t.touch(s, now) // look at it again when it may have changed
		}
	}
	return true
}

// unseatActor stops the resource's actor, and drops the seat unless an alarm needs it.
func (t *tenure) unseatActor(ctx actor.Context, s *seat) {
	ctx.Stop(s.pid)
	t.idle.Remove(s.idle)
	t.shard.actors.Store(int64(t.idle.Len()))
	s.pid, s.idle = nil, nil
	if s.alarm == 0 {
		delete(t.seats, s.resource)
	}
}
