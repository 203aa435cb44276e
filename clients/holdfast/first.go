package holdfast

import (
	"context"
	"sync"
)

// first is something that is done once: the first call does it, and later ones return its result. The zero value is ready.
type first struct {
	mu sync.Mutex
	// called: somebody has. over: result is known. done is closed then; nil: nobody waits for it.
	called, over bool
	done         chan struct{}
	result       error
}

// do calls f if it is the first call, and returns what f returned. A later call waits no longer than its context, and
// returns the error of late then.
func (o *first) do(ctx context.Context, f, late func() error) error {
	o.mu.Lock()
	if !o.called {
		o.called = true
		o.mu.Unlock()
		defer o.end()
		o.result = f()
		return o.result
	}
	if o.done == nil {
		o.done = make(chan struct{})
		if o.over {
			close(o.done)
		}
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

// end lets the calls go on that wait.
func (o *first) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over = true; o.done != nil {
		close(o.done)
	}
}
