package lease

import "github.com/holdfast-io/holdfast/messages"

// State is everything that the owner knows of one resource: its image and its queue.
// The queue is empty while the resource is free, see [Image.IsFree]. A State belongs to one goroutine.
type State struct {
	// resource is the qualified name of a tenant's resource: [State.name] is what answers say.
	resource string
	image    Image
	queue    queue
	// unacknowledged are the grants of whose holders nothing has been received since.
	unacknowledged unacknowledged
	past           past
	blocks         blocks
	sessions       *Sessions
	// hasEphemeral: an ephemeral lease was granted here.
	hasEphemeral bool
	// awaited is what was last reported to the sessions of the leases: whether requests wait. moved: a lease has joined
	// or left one since.
	awaited, moved bool
}

// New returns the state of a resource as its image has it, with an empty queue. The memory of ended
// requests and the sessions are the shard's; the sessions know the leases of the image.
func New(resource string, image Image, ended *EndedRequests, sessions *Sessions) *State {
	return &State{resource: resource, image: image, past: past{resource: resource, shard: ended}, sessions: sessions}
}

// name returns the name of the resource within its tenant.
func (s *State) name() string {
	_, name := messages.Unqualify(s.resource) // mutant: ErrorNamesTheTenant
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

// WaitingSince returns since when the oldest queued request waits, 0 if none does.
func (s *State) WaitingSince() Instant {
	if w := s.queue.first(); w != nil {
		return w.since
	}
	return 0
}

// Wake returns when the next [Tick] is due, or [Never]. It may be before the next instant at which
// one changes something, and is never after it.
func (s *State) Wake() Instant {
	return min(s.image.Soonest(), s.queue.soonest())
}

// Waiters returns the waiting requests at now in their order, at most 100.
func (s *State) Waiters(now Time) []*messages.Waiter { return s.queue.shown(now) }
