package request

import (
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// attempts are those whose answers are expected. Each has a reply subject of its own, to tell which of
// several repetitions an answer belongs to: a lease is counted from when that one was sent. The zero
// attempts has none.
type attempts struct {
	mu   sync.Mutex
	last uint64
	open map[uint64]*attempt
}

// attempt is one message on its way.
type attempt struct {
	receive  func(*Answer)
	sent     time.Time
	encoding messages.Encoding
	direct   bool
}

// add numbers an attempt. Without an attempt it only takes a number.
func (s *attempts) add(a *attempt) (id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	if a != nil {
		if s.open == nil {
			s.open = make(map[uint64]*attempt)
		}
		s.open[s.last] = a
	}
	return s.last
}

// take removes an attempt, and returns nil if no answer is expected to it.
func (s *attempts) take(id uint64) *attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.open[id]
	delete(s.open, id)
	return a
}

func (s *attempts) forget(ids ...uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		delete(s.open, id)
	}
}

func (s *attempts) isOpen(id uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[id] != nil
}

func (s *attempts) lastID() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// answer returns what is known of an answer from its attempt.
func (a *attempt) answer(id uint64) *Answer {
	return &Answer{ID: id, Sent: a.sent, direct: a.direct, encoding: a.encoding}
}
