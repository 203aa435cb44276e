package node

import "context"

// queue hands items to a goroutine of its own, which works them off in their order, so that a connection
// that takes no more holds up neither a shard nor the router. What does not fit is not taken. It is safe
// for concurrent use.
type queue[T any] struct {
	items chan T
	// last is closed when nothing is put in any more, over when the goroutine has ended.
	last, over chan struct{}
}

// newQueue starts a queue with room for a number of items.
func newQueue[T any](room int, handle func(T)) *queue[T] {
	q := &queue[T]{items: make(chan T, room), last: make(chan struct{}), over: make(chan struct{})}
	go q.run(handle)
	return q
}

// put takes an item in, and reports whether there was room for it. It does not block.
func (q *queue[T]) put(item T) bool {
	select {
	case q.items <- item:
		return true
	default:
		return false
	}
}

func (q *queue[T]) run(handle func(T)) {
	defer close(q.over)
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

// finish works off what is there.
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

// close waits until what is in the queue has been worked off, or ctx ends. What is put in later may be
// lost. It is called once.
func (q *queue[T]) close(ctx context.Context) error {
	close(q.last)
	select {
	case <-q.over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
