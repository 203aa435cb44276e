package actors

import (
	"container/list"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/ledger"
	"github.com/holdfast-io/holdfast/messages"
)

// passivateAtOnce bounds how many actors one turn of the shard stops.
const passivateAtOnce = 1000

// passivateDue tells a term to look for idle actors.
type passivateDue struct{}

// activations are the resources of a term that have an actor or a timer.
type activations struct {
	*tally
	mailbox   *mailbox
	ledger    *ledger.Ledger
	decided   func(*decision)
	ended     *lease.EndedRequests
	props     *actor.Props
	idleAfter time.Duration

	byResource map[string]*activation
	// idle has the *activation with an actor, the longest unused first; actors counts them for other
	// goroutines, spawned counts all that there ever were.
	idle    *list.List
	actors  *atomic.Int64
	spawned uint64
	timeout timeout
}

func newActivations(s *Shard, m *mailbox, l *ledger.Ledger, decided func(*decision)) *activations {
	return &activations{
		tally: new(tally), mailbox: m, ledger: l, decided: decided, ended: lease.NewEndedRequests(), idleAfter: s.cfg.Tuning.IdleAfter,
		props: actor.PropsFromProducer(
			func() actor.Actor { return &resourceActor{clock: s.cfg.Clock, log: s.cfg.Log} },
			actor.WithMailbox(actor.UnboundedLockfree()),
			// A resource runs on its shard's goroutine: only the shard sends to it, and a step takes less
			// time than waking another goroutine twice.
			actor.WithDispatcher(actor.NewSynchronizedDispatcher(throughput)),
		),
		byResource: make(map[string]*activation), idle: list.New(), actors: &s.actors,
	}
}

// add adds a resource without an actor.
func (s *activations) add(resource string) *activation {
	a := &activation{timer: timer{resource: resource}, tally: s.tally}
	s.byResource[resource] = a
	return a
}

// has reports whether the resource has an actor or a timer.
func (s *activations) has(resource string) bool {
	_, ok := s.byResource[resource]
	return ok
}

// activate returns the resource's activation, with an actor.
func (s *activations) activate(ctx actor.Context, resource string) *activation {
	a, ok := s.byResource[resource]
	if !ok {
		a = s.add(resource)
	}
	if a.pid == nil {
		s.spawn(ctx, a)
	}
	return a
}

// spawn starts an actor for the resource. The ledger knows its whole state, since an actor is stopped only
// when everything that it decided is confirmed.
func (s *activations) spawn(ctx actor.Context, a *activation) {
	s.spawned++
	pid, err := ctx.SpawnNamed(s.props, fmt.Sprintf("%d-%d", s.ledger.Head().Epoch, s.spawned))
	if err != nil {
		panic(fmt.Errorf("resource actor: %w", err)) // the name is new, so it cannot be taken
	}
	a.pid = pid
	a.idle = s.idle.PushBack(a)
	s.actors.Store(int64(s.idle.Len()))
	ctx.Send(pid, &load{activation: a, image: s.ledger.Image(a.resource), ended: s.ended})
}

// send sends the resource an event. Every one leads to a decision, returned or panicked.
func (s *activations) send(ctx actor.Context, a *activation, r *Request) {
	a.sent()
	if a.reloading {
		a.held = append(a.held, r)
		return
	}
	s.decide(ctx, a, r)
}

func (s *activations) decide(ctx actor.Context, a *activation, r *Request) {
	d := &decision{activation: a, request: r}
	if ctx.Send(a.pid, d); d.made {
		s.decided(d)
	}
}

// touch notes that the resource was used.
func (s *activations) touch(a *activation, now lease.Instant) {
	a.used = now
	s.idle.MoveToBack(a.idle)
	s.passivateLater()
}

func (s *activations) passivateLater() {
	if !s.timeout.isSet() && s.idle.Len() > 0 {
		s.timeout.set(s.mailbox, s.idleAfter/2, passivateDue{})
	}
}

// passivate stops actors that have been idle for long.
func (s *activations) passivate(ctx actor.Context) {
	s.timeout.clear()
	if s.passivateSome(ctx, s.mailbox.clock.Now().Instant) {
		s.mailbox.tell(passivateDue{})
		return
	}
	s.passivateLater()
}

// passivateSome stops a bounded number of actors, and reports whether there may be more to stop.
func (s *activations) passivateSome(ctx actor.Context, now lease.Instant) (more bool) {
	before := now.Add(-s.idleAfter)
	e := s.idle.Front()
	for range passivateAtOnce {
		if e == nil || e.Value.(*activation).used > before {
			return false
		}
		a := e.Value.(*activation)
		e = e.Next()
		if a.isIdle() {
			s.stopActor(ctx, a)
		} else {
			a.used = now // look at it again after a while
			s.idle.MoveToBack(a.idle)
		}
	}
	return true
}

// stopActor stops the resource's actor, and drops the activation unless its timer is set.
func (s *activations) stopActor(ctx actor.Context, a *activation) {
	ctx.Stop(a.pid)
	s.idle.Remove(a.idle)
	s.actors.Store(int64(s.idle.Len()))
	a.pid, a.idle = nil, nil
	if a.index == 0 {
		delete(s.byResource, a.resource)
	}
}

// panicked notes that the resource's actor has lost its state: its queue, and an ephemeral lease. Until
// resume, events are held.
func (s *activations) panicked(a *activation) {
	if gone := s.ledger.Ephemeral(a.resource); gone != nil {
		s.ended.End(s.mailbox.clock.Now().Instant, gone.Grant, messages.Event_EXPIRED)
	}
	a.reloading = true
}

// reload gives an actor that panicked its state back.
func (s *activations) reload(ctx actor.Context, a *activation) lease.Image {
	image := s.ledger.Image(a.resource)
	ctx.Send(a.pid, &load{activation: a, image: image, ended: s.ended})
	return image
}

// resume sends an actor that has its state back the events that were held.
func (s *activations) resume(ctx actor.Context, a *activation) {
	held := a.held
	a.held, a.reloading = nil, false
	for _, r := range held {
		s.decide(ctx, a, r)
	}
}

// evict sends the event to every resource with queued requests, also to those whose decisions have yet to
// come back: one of these may queue a request.
func (s *activations) evict(ctx actor.Context, e lease.Event) {
	for _, a := range s.byResource {
		if a.pid != nil && (a.waiting > 0 || a.busy > 0) {
			s.send(ctx, a, &Request{Resource: a.resource, Event: e})
		}
	}
}

// stopAll stops the actors as soon as their mailboxes are empty, so that every event comes back, and
// returns the requests that were held.
func (s *activations) stopAll(ctx actor.Context) (held []*Request) {
	for _, a := range s.byResource {
		for _, r := range a.held {
			a.done()
			held = append(held, r)
		}
		a.held = nil
		if a.pid != nil {
			ctx.Poison(a.pid)
		}
	}
	return held
}
