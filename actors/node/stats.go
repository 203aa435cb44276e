package node

import (
	"sync"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node/routing"
	"github.com/holdfast-io/holdfast/messages"
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
	// LateTokens counts grants whose token is near the end.
	LateTokens uint64 `json:"late_tokens"`
	// Events counts published events, EventsBehind the commits whose events have yet to be published, EventsLost those
	// whose events never will be.
	Events       uint64 `json:"events"`
	EventsBehind uint64 `json:"events_behind"`
	EventsLost   uint64 `json:"events_lost"`
}

// statistics collects stats from the parts of a node. It is safe for concurrent use.
type statistics struct {
	drops     drops
	endpoints *endpoints
	outbox    *outbox
	quota     *actors.Quota
	routers   routing.Table

	mu sync.Mutex
	// lateTokens, events and eventsLost are those of shards that the node no longer has.
	lateTokens, events, eventsLost uint64
}

func (s *statistics) snapshot() stats {
	all := stats{
		Answers: make(map[string]uint64),
		Dropped: s.drops.count.Load(),
		Unread:  s.endpoints.unread(),
		Unsent:  s.outbox.dropped.Load(),
		Pending: s.quota.Pending(),
		Held:    s.quota.Held(),
		Waiting: s.quota.Waiting(),
	}
	for status := range s.outbox.answers {
		if count := s.outbox.answers[status].Load(); count > 0 {
			all.Answers[messages.Status(status).String()] = count
		}
	}
	s.mu.Lock()
	all.LateTokens, all.Events, all.EventsLost = s.lateTokens, s.events, s.eventsLost
	s.mu.Unlock()
	for _, shard := range s.routers.Local() {
		all.LateTokens += shard.LateTokens()
		counts := shard.Events()
		all.Events += counts.Published
		all.EventsBehind += counts.Behind
		all.EventsLost += counts.Lost
	}
	return all
}

// retire keeps what a shard has counted that the node no longer has.
func (s *statistics) retire(shard *actors.Shard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := shard.Events()
	s.lateTokens += shard.LateTokens()
	s.events += counts.Published
	s.eventsLost += counts.Lost
}
