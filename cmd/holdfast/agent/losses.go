//go:build unix

package agent

import (
	"context"
	"sync"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// id identifies a loss.
type id struct {
	resource string
	token    holdfast.Token
}

func idOf(l holdfast.Lease) id { return id{l.Resource, l.Token} }

// maxKnown bounds the losses that are handled at a time. Those beyond it are found by a later listing.
const maxKnown = 10_000

// losses are the losses that are handled, each of them once. It is safe for concurrent use.
type losses struct {
	mu sync.Mutex
	// known has for each loss what ends its handling.
	known map[id]context.CancelFunc
	// ended are the losses that have ended since the listing began that is read now, which may have them still; nil:
	// none is read.
	ended map[id]struct{}
}

// add adds a loss, and reports whether it is to be handled: it is not known, it has not ended, and there is room.
func (s *losses) add(loss id, end context.CancelFunc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.known[loss]
	_, ended := s.ended[loss]
	if known || ended || len(s.known) >= maxKnown {
		return false
	}
	s.known[loss] = end
	return true
}

// end ends the handling of a loss: its resource is not held back by it any more.
func (s *losses) end(loss id) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil && len(s.ended) < maxKnown {
		s.ended[loss] = struct{}{}
	}
	if end, known := s.known[loss]; known {
		delete(s.known, loss)
		end()
	}
}

// beginListing has those remembered that end from now on. A listing that was asked for before may have them still.
func (s *losses) beginListing() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = make(map[id]struct{})
}

// finishListing forgets those that have ended.
func (s *losses) finishListing() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = nil
}
