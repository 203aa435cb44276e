package request

import (
	"slices"
	"sync"
)

// outbox is the queue of the goroutine that publishes. It is never longer than there are open attempts
// and one-way messages.
type outbox struct {
	mu    sync.Mutex
	queue []*attempt
	// ready has an element if the queue may have one. The owner makes it, with room for one.
	ready chan struct{}
}

func (o *outbox) add(a *attempt) {
	o.mu.Lock()
	o.queue = append(o.queue, a)
	o.mu.Unlock()
	select {
	case o.ready <- struct{}{}:
	default:
	}
}

// takeAll empties the queue. The next one takes the room of the last, which is over.
func (o *outbox) takeAll(last []*attempt) []*attempt {
	clear(last)
	o.mu.Lock()
	defer o.mu.Unlock()
	queue := o.queue
	o.queue = last[:0]
	return queue
}

// remove takes attempts back that have not been published, and returns the others.
func (o *outbox) remove(ids []uint64) (removed, left []uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	left = slices.Clone(ids)
	o.queue = slices.DeleteFunc(o.queue, func(a *attempt) bool {
		i := slices.Index(left, a.id)
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
		removed = append(removed, a.id)
		return true
	})
	return removed, left
}
