package lease

import (
	"cmp"
	"slices"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// State is everything that the owner knows of one resource: its image and its queue.
// The queue is empty while the resource is free, see [Image.IsFree]. A State belongs to one goroutine.
type State struct {
	// resource is the qualified name of a tenant's resource: [State.name] is what answers say.
	resource string
	image    Image
	queue    queue
	// doubted are the tokens of grants of whose holders nothing has been heard since: only these may an
	// [Undeliverable] take back. A new State doubts none; there the lease runs out by itself.
	doubted []messages.Token
	// past knows the requests that have ended since the shard was opened; the image knows the last grant's
	// also if that was before.
	past *EndedRequests
	// ended is when this State told past of the end of the last grant; 0: it has not.
	ended    Instant
	sessions *Sessions
	// awaited is what the sessions of the leases were last told of the queue; moved: a lease has joined or left one since.
	awaited, moved bool
}

// New returns the state of a resource as its image has it, with an empty queue. The memory of ended
// requests and the sessions are the shard's; the sessions know the leases of the image.
func New(resource string, image Image, past *EndedRequests, sessions *Sessions) *State {
	return &State{resource: resource, image: image, past: past, sessions: sessions}
}

// name returns the name of the resource within its tenant.
func (s *State) name() string {
	_, name := messages.Unqualify(s.resource)
	return name
}

// Image returns what the owner remembers: what is recorded once everything decided so far is
// confirmed, and the ephemeral leases.
func (s *State) Image() Image { return s.image.Clone() }

// Ephemeral returns the present leases that are ephemeral: only this State knows of them.
func (s *State) Ephemeral() (held []Lease) {
	for h := range s.image.Holdings() {
		if h.isEphemeral() {
			held = append(held, h)
		}
	}
	return held
}

// Waiting returns how many requests are queued.
func (s *State) Waiting() int { return len(s.queue.waiters) }

// Wake returns when the next [Tick] is due, or [Never]. It may be before the next instant at which
// one changes something, and is never after it.
func (s *State) Wake() Instant {
	return min(s.image.Soonest(), s.queue.soonest())
}

// Step takes the state over an event at now, and returns what it led to. Time must not go back.
func (s *State) Step(now Time, e Event) Outcome {
	var o Outcome
	s.settle(now, &o)
	held, inMemory := s.image.Held(), s.image.ephemeral()
	switch e := e.(type) {
	case Acquire:
		s.acquire(now, e, &o)
	case Release:
		s.release(now, e, &o)
	case Extend:
		s.extend(now, e, &o)
	case Get:
		s.get(now, e, &o)
	case Set:
		s.set(now, e, &o)
	case Break:
		s.breakLease(now, e, &o)
	case Confirm:
		s.confirmLoss(now, e, &o)
	case Undeliverable:
		s.revoke(now, e, &o)
	case Dismiss:
		s.dismiss(e, &o)
	case Surrender:
		s.surrender(now, &o)
	case Tick, Keep, EndSession: // the latter two are of [Sessions]
	}
	s.awaitSessions()
	o.Ephemeral = len(o.Changes) == 0 && (held || s.image.Held()) && (!held || inMemory) && s.image.ephemeral()
	return o
}

// settle does what is due: waits that have run out, then the leases whose session has changed and those whose time has
// passed, then the delays. What they leave is granted when all of them have ended, so that nothing depends on which of
// them is looked at first.
func (s *State) settle(now Time, o *Outcome) {
	left := s.timeOut(now, o)
	left = s.settleSessions(now, o) || left
	for h, isDue := s.image.due(now.Instant); isDue; h, isDue = s.image.due(now.Instant) {
		s.end(now, h, messages.Event_EXPIRED, "", o)
		left = true
	}
	if s.endDelays(now, o) || left {
		s.serve(now, o)
	}
}

// finish lets a lease end, and grants to waiting requests what it leaves.
func (s *State) finish(now Time, h Lease, kind messages.Event_Kind, reason string, o *Outcome) {
	s.end(now, h, kind, reason, o)
	s.serve(now, o)
}

// end lets a lease end.
func (s *State) end(now Time, h Lease, kind messages.Event_Kind, reason string, o *Outcome) {
	s.apply(now, h.Grant, &journal.Change{Kind: kind, Grant: h.Grant, Reason: reason}, o)
	if s.past.End(now.Instant, h.Grant, kind); s.image.leases.isLast(h.token()) {
		s.ended = now.Instant
	}
	s.believe(h.token())
}

// serve grants the waiting requests that fit, in their order, until one does not.
func (s *State) serve(now Time, o *Outcome) {
	for {
		w := s.queue.first()
		if w == nil {
			return
		}
		request, from := w.request, w.from
		_, over, _ := s.recallAcquire(request) // reentrant, it had shared a lease
		if !over && (!s.fits(request) || s.isFull() != "") {
			return
		}
		s.queue.pop()
		if over {
			o.answer(from, s.over(now, request))
		} else if refusal := s.refusedSession(now, request.GetSession(), request.GetSecretHash()); refusal != nil {
			o.answer(from, refusal)
		} else {
			s.grant(now, request, from, true, o)
		}
	}
}

// apply takes the image and the sessions over a change, and has it recorded unless it is of an ephemeral lease. before
// is the lease as it was, nil for a grant.
func (s *State) apply(now Time, before *journal.Grant, c *journal.Change, o *Outcome) {
	s.image.Apply(c, now.Instant)
	s.move(now, before, c)
	if c.GetGrant().GetDurability() == messages.Durability_EPHEMERAL {
		if c.GetKind() == messages.Event_BROKEN {
			o.Broken = c
		}
		return
	}
	if c.GetKind() == messages.Event_ACQUIRED {
		s.image.Reserved = 0 // a persistent grant ends a reservation
	}
	o.Changes = append(o.Changes, c)
}

// believe notes that the holder of a token knows of its lease, or that the lease has ended.
func (s *State) believe(token messages.Token) {
	s.doubted = slices.DeleteFunc(s.doubted, func(doubted messages.Token) bool { return doubted == token })
}

// reply is an answer with nothing but a status, and with how many wait.
func (s *State) reply(status messages.Status) *messages.Reply {
	return &messages.Reply{Status: status, Waiting: uint32(s.Waiting())}
}

// replyLease is an answer that shows one lease.
func (s *State) replyLease(now Time, status messages.Status, h Lease) *messages.Reply {
	r := s.reply(status)
	r.Lease = s.sessions.Lease(h, now.Instant)
	return r
}

const (
	// mostShown is how many holders, and how many waiting requests, an answer shows.
	mostShown = 100
	// mostShownBytes bounds the holders in an answer by what they take when they are stored. In JSON, where a byte may
	// become six, an answer is below 512 KB all the same.
	mostShownBytes = 64 << 10
)

// replyTaken is an answer that shows why the resource cannot be had: who holds it, or the first of the lost leases, and
// how long all of them hold the resource back.
func (s *State) replyTaken(now Time) *messages.Reply {
	r := s.reply(messages.Status_HELD)
	s.showHolders(now, r)
	lost := slices.Collect(s.image.Lost())
	if len(lost) == 0 {
		r.Lease = r.Holders[0]
		return r
	}
	last := slices.MaxFunc(lost, func(x, y Lease) int { return cmp.Compare(x.Deadline, y.Deadline) })
	r.Status, r.Lease, r.LeftMs = messages.Status_HELD_BACK, lost[0].Grant.Lease(0), last.delayLeft(now.Instant)
	return r
}

// showHolders adds to an answer who holds the resource.
func (s *State) showHolders(now Time, r *messages.Reply) {
	bytes := 0
	for h := range s.image.Holdings() {
		bytes += h.Grant.Weight()
		if len(r.Holders) == mostShown || len(r.Holders) > 0 && bytes > mostShownBytes {
			break
		}
		r.Holders = append(r.Holders, s.sessions.Lease(h, now.Instant))
	}
	r.Held = uint32(s.image.Permits())
}
