package page

import (
	"context"
	"time"
)

const (
	// sharedPause is the minimum time between two readings that all windows share, sharedIdle how many times as long as
	// a reading took the next one waits.
	sharedPause, sharedIdle = 5 * time.Second, 5
)

// shared is a reading that all windows of a node share: what it costs does not grow with their number. It is safe for
// concurrent use.
type shared[T any] struct {
	read func(ctx context.Context) (T, error)
	// turn has the place of who reads, or looks at what was read.
	turn chan struct{}
	last T
	err  error
	next time.Time
}

func newShared[T any](read func(ctx context.Context) (T, error)) *shared[T] {
	return &shared[T]{read: read, turn: make(chan struct{}, 1)}
}

// get returns the last reading if it is recent, and else reads. What ctx has cut short is not kept.
func (s *shared[T]) get(ctx context.Context) (T, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
	begun := time.Now()
	if begun.Before(s.next) {
		return s.last, s.err
	}
	last, err := s.read(ctx)
	if ctx.Err() == nil {
		took := time.Since(begun)
		s.last, s.err, s.next = last, err, time.Now().Add(min(max(sharedPause, sharedIdle*took), longestRefresh))
	}
	return last, err
}
