package node

import (
	"context"
	"sync"
)

// queue hands items to a goroutine of its own, which handles them in order, so that a connection that takes no more
// blocks neither a shard nor a router. It is bounded. It is safe for concurrent use.
type queue[T any] struct {
	room int

	mu sync.Mutex
	// items wait. They and those that are being handled have two arrays in turns.
	items []T
	spare []T
	// ready has an element if items may wait.
	ready chan struct{}
	// last is closed when no more items come, done when the goroutine has ended.
	last, done chan struct{}
}

// maxSpare is how many items an array may hold that is kept for later.
const maxSpare = 1 << 12

// newQueue starts a queue with room for a number of items. handle gets all that wait, in their order; it must not keep
// the slice. close stops the queue.
func newQueue[T any](room int, handle func([]T)) *queue[T] {
	q := &queue[T]{room: room, ready: make(chan struct{}, 1), last: make(chan struct{}), done: make(chan struct{})}
	go q.run(handle)
	return q
}

// put adds items, and returns how many there was room for. It does not block.
func (q *queue[T]) put(items ...T) int {
	q.mu.Lock()
	n := min(len(items), q.room-len(q.items))
	q.items = append(q.items, items[:n]...)
	q.mu.Unlock()
	select {
	case q.ready <- struct{}{}:
	default:
	}
	return n
}

func (q *queue[T]) run(handle func([]T)) {
	defer close(q.done)
	for {
		select {
		case <-q.ready:
			q.handle(handle)
		case <-q.last:
			q.handle(handle)
			return
		}
	}
}

// handle handles the items that wait.
func (q *queue[T]) handle(handle func([]T)) {
	q.mu.Lock()
	items := q.items
	q.items, q.spare = q.spare, nil
	q.mu.Unlock()
	handle(items)
	if cap(items) > maxSpare {
		return
	}
	clear(items)
	q.mu.Lock()
	q.spare = items[:0]
	q.mu.Unlock()
}

// close waits until the items in the queue are handled, or ctx ends. Items that are put later may be lost. It is called
// once.
func (q *queue[T]) close(ctx context.Context) error {
	close(q.last)
	select {
	case <-q.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
