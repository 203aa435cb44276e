package holdfast

import (
	"context"
	"sync"
)

// first is something that is done once: the first call does it, and later ones return its result. The zero value is ready.
type first struct {
	mu sync.Mutex
	// done is closed when result is known; nil: nobody has called.
	done   chan struct{}
	result error
}

// do calls f if it is the first call, and returns what f returned. A later call waits no longer than its context, and
// returns the error of late then.
func (o *first) do(ctx context.Context, f, late func() error) error {
	o.mu.Lock()
	if o.done == nil {
		o.done = make(chan struct{})
		o.mu.Unlock()
		defer close(o.done)
		o.result = f()
		return o.result
	}
	o.mu.Unlock()
	select {
	case <-o.done:
		return o.result
	default:
	}
	select {
	case <-o.done:
		return o.result
	case <-ctx.Done():
		return late()
	}
}
