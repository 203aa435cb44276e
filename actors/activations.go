package actors

import (
	"container/list"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/ledger"
	"github.com/holdfast-io/holdfast/messages"
)

// passivateAtOnce bounds how many actors one turn of the shard stops.
const passivateAtOnce = 1000

// passivateDue lets a term look for idle actors.
type passivateDue struct{}

// activations are the resources of a term that have an actor or a timer.
type activations struct {
	*tally
	mailbox *mailbox
	ledger  *ledger.Ledger
	// decided gets each decision, also that of an actor that panicked.
	decided   func(*decision)
	ended     *lease.EndedRequests
	sessions  *lease.Sessions
	props     *actor.Props
	idleAfter time.Duration

	byResource map[string]*activation
	// idle has the *activation with an actor, the longest unused first; spawned counts all that there ever were.
	idle    *list.List
	spawned uint64
	// spawning is the activation for which an actor is being spawned.
	spawning *activation
	timeout  timeout
}

func newActivations(
	s *Shard, m *mailbox, l *ledger.Ledger, sessions *lease.Sessions, counts *tally, decided func(*decision),
) *activations {
	all := &activations{
		tally: counts, mailbox: m, ledger: l, decided: decided, ended: lease.NewEndedRequests(), sessions: sessions,
		idleAfter:  s.cfg.Tuning.IdleAfter,
		byResource: make(map[string]*activation), idle: list.New(),
	}
	all.props = actor.PropsFromProducer(
		func() actor.Actor { return &resourceActor{clock: s.cfg.Clock, log: s.cfg.Log} },
		actor.WithMailbox(func() actor.Mailbox { return &all.spawning.inbox }),
	)
	return all
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
	s.spawning = a
	pid, err := ctx.SpawnNamed(s.props, fmt.Sprintf("%d-%d", s.ledger.Head().Epoch, s.spawned))
	if err != nil {
		panic(fmt.Errorf("resource actor: %w", err)) // the name is new, so it cannot be taken
	}
	a.pid = pid
	a.idle = s.idle.PushBack(a)
	s.load(a)
}

// load gives the actor its state, and returns it.
func (s *activations) load(a *activation) lease.Image {
	image := s.ledger.Resume(a.resource)
	// mutant: EndedRequestsLostAtPassivation
	a.inbox.PostUserMessage(&load{resource: a.resource, image: image, ended: s.ended, sessions: s.sessions})
	return image
}

// send sends the resource an event. Every one leads to a decision, at once or when the actor has its state back.
func (s *activations) send(a *activation, r *Request) {
	a.sent()
	s.decide(a, r)
}

func (s *activations) decide(a *activation, r *Request) {
	if a.held != nil {
		*a.held = append(*a.held, r)
		return
	}
	d := &decision{activation: a, request: r}
	a.inbox.PostUserMessage(d)
	s.decided(d)
}

// queue returns what waits for a resource, nil if nothing does.
func (s *activations) queue(resource string, now lease.Time) *messages.Queue {
	a, ok := s.byResource[resource]
	if !ok || a.queue == nil {
		return nil
	}
	waiting, oldest := a.queue.lengths(now.Instant)
	return &messages.Queue{Waiting: waiting, OldestMs: oldest, Waiters: s.waiters(resource, now)}
}

// waiters returns the requests that wait for a resource, see [lease.State.Waiters].
func (s *activations) waiters(resource string, now lease.Time) []*messages.Waiter {
	a, ok := s.byResource[resource]
	if !ok || a.queue == nil {
		return nil
	}
	i := &inspection{now: now}
	a.inbox.PostUserMessage(i)
	return i.waiters
}

// waitingFor returns how many requests wait for a resource.
func (s *activations) waitingFor(resource string) int {
	if a, ok := s.byResource[resource]; ok {
		return a.waiting()
	}
	return 0
}

// touch notes that the resource was used, unless it did so a short while ago.
func (s *activations) touch(a *activation, now lease.Instant) {
	if now.Sub(a.used) >= s.idleAfter/8 {
		a.used = now
		s.idle.MoveToBack(a.idle)
	}
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
		s.mailbox.send(passivateDue{})
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
			s.stopActor(ctx, a, now)
		} else {
			a.used = now // look at it again after a while
			s.idle.MoveToBack(a.idle)
		}
	}
	return true
}

// stopActor stops the resource's actor, and drops the activation unless its timer is set.
func (s *activations) stopActor(ctx actor.Context, a *activation, now lease.Instant) {
	last := &snapshot{}
	a.inbox.PostUserMessage(last)
	s.ledger.Suspend(a.resource, last.image, now)
	ctx.Stop(a.pid)
	s.idle.Remove(a.idle)
	a.pid, a.inbox, a.idle = nil, inbox{}, nil
	if a.index == 0 {
		delete(s.byResource, a.resource)
	}
}

// panicked notes that the resource's actor has lost its state: its queue, and its ephemeral leases. Until
// resume, events are held.
func (s *activations) panicked(a *activation) {
	s.endEphemeral(a)
	a.held = new(held)
}

// endEphemeral notes that the ephemeral leases of the resource end with its state.
func (s *activations) endEphemeral(a *activation) {
	for _, gone := range s.ledger.Ephemeral(a.resource) {
		s.ended.End(s.mailbox.clock.Now().Instant, gone.Grant, messages.Event_EXPIRED)
	}
}

// resume sends an actor that has its state back the events that were held.
func (s *activations) resume(a *activation) {
	held := *a.held
	a.held = nil
	for _, r := range held {
		s.decide(a, r)
	}
}

// evict sends the event to every resource with queued requests, and to those that hold some back: one of these may be
// queued.
func (s *activations) evict(e lease.Event) {
	for _, a := range s.byResource {
		if a.queue != nil || a.held != nil {
			s.send(a, &Request{Resource: a.resource, Event: e})
		}
	}
}

// stopAll stops the actors, and returns the requests that were held.
func (s *activations) stopAll(ctx actor.Context) (all []*Request) {
	for _, a := range s.byResource {
		if a.held != nil {
			for _, r := range *a.held {
				a.done()
				all = append(all, r)
			}
		}
		if a.pid != nil {
			ctx.Stop(a.pid)
		}
	}
	return all
}
