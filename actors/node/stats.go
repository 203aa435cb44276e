package node

import (
	"sync"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/messages"
)

// stats is what `nats micro stats` shows besides the numbers of requests.
type stats struct {
	// Answers counts what went out, by status.
	Answers map[string]uint64 `json:"answers"`
	// Dropped counts requests that wanted their answer elsewhere than in an inbox.
	Dropped uint64 `json:"dropped"`
	// Unread counts requests that came faster than they were read, Unsent answers that NATS did not take as
	// fast as they were made.
	Unread uint64 `json:"unread"`
	Unsent uint64 `json:"unsent"`
	// Pending is how many requests are on their way now: neither answered nor in a queue.
	Pending int64 `json:"pending"`
	// Held and Waiting are how many resources are held and how many requests wait now.
	Held    int64 `json:"held"`
	Waiting int64 `json:"waiting"`
	// LateTokens counts grants whose token is near the end.
	LateTokens uint64 `json:"late_tokens"`
	// Events counts those that were published, EventsBehind the commits of which that has yet to be
	// done, and EventsLost those of which it never will be.
	Events       uint64 `json:"events"`
	EventsBehind uint64 `json:"events_behind"`
	EventsLost   uint64 `json:"events_lost"`
}

func (n *Node) stats() stats {
	s := stats{
		Answers: make(map[string]uint64),
		Dropped: n.drops.count.Load(),
		Unread:  n.unread(),
		Unsent:  n.outbox.dropped.Load(),
		Pending: n.gate.quota.Pending(),
		Held:    n.gate.quota.Held(),
		Waiting: n.gate.quota.Waiting(),
	}
	for status := range n.outbox.answers {
		if count := n.outbox.answers[status].Load(); count > 0 {
			s.Answers[messages.Status(status).String()] = count
		}
	}
	n.past.mu.Lock()
	s.LateTokens, s.Events, s.EventsLost = n.past.lateTokens, n.past.events, n.past.eventsLost
	n.past.mu.Unlock()
	for _, shard := range n.shards() {
		s.LateTokens += shard.LateTokens()
		counts := shard.Events()
		s.Events += counts.Published
		s.EventsBehind += counts.Behind
		s.EventsLost += counts.Lost
	}
	return s
}

// past is what shards have counted that this node has no more.
type past struct {
	mu                             sync.Mutex
	lateTokens, events, eventsLost uint64
}

func (p *past) add(s *actors.Shard) {
	p.mu.Lock()
	defer p.mu.Unlock()
	counts := s.Events()
	p.lateTokens += s.LateTokens()
	p.events += counts.Published
	p.eventsLost += counts.Lost
}
