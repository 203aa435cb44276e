package node

import "context"

// queue hands items to a goroutine of its own, which handles them in order, so that a connection that takes no more
// blocks neither a shard nor a router. It is bounded. It is safe for concurrent use.
type queue[T any] struct {
	items chan T
	// last is closed when no more items come, done when the goroutine has ended.
	last, done chan struct{}
}

// newQueue starts a queue with room for a number of items. close stops it.
func newQueue[T any](room int, handle func(T)) *queue[T] {
	q := &queue[T]{items: make(chan T, room), last: make(chan struct{}), done: make(chan struct{})}
	go q.run(handle)
	return q
}

// put adds an item, and reports whether there was room for it. It does not block.
func (q *queue[T]) put(item T) bool {
	select {
	case q.items <- item:
		return true
	default:
		return false
	}
}

func (q *queue[T]) run(handle func(T)) {
	defer close(q.done)
	for {
		select {
		case item := <-q.items:
			handle(item)
		case <-q.last:
			q.finish(handle)
			return
		}
	}
}

// finish handles the items that are left.
func (q *queue[T]) finish(handle func(T)) {
	for {
		select {
		case item := <-q.items:
			handle(item)
		default:
			return
		}
	}
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
