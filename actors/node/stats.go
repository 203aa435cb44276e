package node

import (
	"sync"

	"github.com/holdfast-io/holdfast/actors"
)

// stats is what `nats micro stats` shows besides the numbers of requests.
type stats struct {
	// Answers counts what went out, by status.
	Answers map[string]uint64 `json:"answers"`
	// Dropped counts requests whose reply subject is not an inbox.
	Dropped uint64 `json:"dropped"`
	// Unread counts requests that were lost because they came faster than they were read, Unsent answers that were
	// lost because NATS did not take them fast enough.
	Unread uint64 `json:"unread"`
	Unsent uint64 `json:"unsent"`
	// Pending is how many requests are neither answered nor in a queue now.
	Pending int64 `json:"pending"`
	// Held and Waiting are how many leases are held and how many requests wait now.
	Held    int64 `json:"held"`
	Waiting int64 `json:"waiting"`
	// MaxHeld, MaxWaiting and MaxQueue are the limits of Held, of Waiting, and of the requests that wait for one
	// resource.
	MaxHeld    int64 `json:"max_held"`
	MaxWaiting int64 `json:"max_waiting"`
	MaxQueue   int   `json:"max_queue"`
	// LateTokens counts grants whose token is near the end.
	LateTokens uint64 `json:"late_tokens"`
	// Events counts published events, EventsBehind the commits whose events have yet to be published, EventsLost those
	// whose events never will be.
	Events       uint64 `json:"events"`
	EventsBehind uint64 `json:"events_behind"`
	EventsLost   uint64 `json:"events_lost"`
	// Storage is missing if NATS is not in the process of the node.
	Storage *Storage `json:"storage,omitempty"`
	// Clock is missing if no other node says what its clock shows.
	Clock *ClockOffset `json:"clock,omitempty"`
}

// statistics collects stats from the parts of a node. It is safe for concurrent use.
type statistics struct {
	drops     drops
	endpoints *endpoints
	outbox    *outbox
	quota     *actors.Quota
	tenants   *tenants
	capacity  Capacity
	// maxQueue is how many requests may wait for one resource.
	maxQueue int
	// storage returns what NATS stores on; nil: NATS is elsewhere.
	storage func() Storage
	// clock returns how far the clock is from those of other nodes; nil: the node is alone.
	clock func() ClockOffset

	mu sync.Mutex
	// live are the shards that were started and are not retired, whatever their state: what a shard has counted is
	// always either in it or in the sums below, so that no sum goes back.
	live map[*actors.Shard]struct{}
	// lateTokens, events and eventsLost are those of shards that the node no longer has.
	lateTokens, events, eventsLost uint64
}

// snapshot returns what `nats micro stats` shows.
func (s *statistics) snapshot() stats {
	f := s.figures()
	all := stats{
		Answers: make(map[string]uint64), Dropped: f.Dropped, Unread: f.Unread, Unsent: f.Unsent,
		Pending: f.Pending, Held: f.Held, Waiting: f.Waiting, LateTokens: f.LateTokens,
		Events: f.Events.Published, EventsBehind: f.Events.Behind, EventsLost: f.Events.Lost,
		MaxHeld: s.capacity.Held, MaxWaiting: s.capacity.Waiting, MaxQueue: s.maxQueue,
	}
	if s.storage != nil {
		storage := s.storage()
		all.Storage = &storage
	}
	if f.Clock.Node != "" {
		all.Clock = &f.Clock
	}
	for _, a := range f.Answers {
		all.Answers[a.Status.String()] += a.Count
	}
	return all
}

// Figures are the counts of a node since it was started, and what it has now.
type Figures struct {
	Answers []Answers
	// Dropped counts requests whose reply subject is not an inbox, Unread those that came faster than they were read,
	// and Unsent answers that NATS did not take.
	Dropped, Unread, Unsent uint64
	// Pending is how many requests are neither answered nor in a queue, Held how many leases are held or hold their
	// resource back, and Waiting how many requests wait.
	Pending, Held, Waiting int64
	// Tenants are those of the node, by name.
	Tenants []TenantFigures
	// LateTokens counts the grants whose token is near the end.
	LateTokens uint64
	// Events is how far the events of all shards have come.
	Events actors.EventCounts
	// Clock is how far the clock is from those of other nodes.
	Clock ClockOffset
}

func (s *statistics) figures() Figures {
	f := Figures{
		Answers: s.outbox.answers.all(),
		Dropped: s.drops.count.Load(), Unread: s.endpoints.unread(), Unsent: s.outbox.dropped.Load(),
		Pending: s.quota.Pending(), Held: s.quota.Held(), Waiting: s.quota.Waiting(),
		Tenants: s.tenants.figures(),
	}
	if s.clock != nil {
		f.Clock = s.clock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f.LateTokens, f.Events.Published, f.Events.Lost = s.lateTokens, s.events, s.eventsLost
	for shard := range s.live {
		f.LateTokens += shard.LateTokens()
		counts := shard.Events()
		f.Events.Published += counts.Published
		f.Events.Lost += counts.Lost
		if shard.State() != actors.Ended { // else they are its successor's
			f.Events.Behind += counts.Behind
		}
	}
	return f
}

// add counts a shard that was started.
func (s *statistics) add(shard *actors.Shard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[shard] = struct{}{}
}

// retire keeps what a shard has counted that the node no longer has.
func (s *statistics) retire(shard *actors.Shard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, shard)
	counts := shard.Events()
	s.lateTokens += shard.LateTokens()
	s.events += counts.Published
	s.eventsLost += counts.Lost
}
