package holdfast

import (
	"context"
	"sync"
)

// crew are the goroutines that run without a caller, and the calls that may leave work to them. The zero
// crew takes work.
type crew struct {
	mu        sync.Mutex
	running   int
	dismissed bool
	waiting   []chan struct{}
}

// start runs f and reports true, unless the crew has been dismissed.
func (c *crew) start(f func()) bool {
	if !c.join() {
		return false
	}
	go func() {
		defer c.done()
		f()
	}()
	return true
}

// join counts a call until it calls done; not if the crew has been dismissed.
func (c *crew) join() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dismissed {
		return false
	}
	c.running++
	return true
}

// dismiss takes no more work.
func (c *crew) dismiss() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dismissed = true
}

// await waits until nothing runs, and no longer than ctx.
func (c *crew) await(ctx context.Context) error {
	idle := c.idle()
	select {
	case <-idle:
		return nil
	default:
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}

// idle returns a channel that is closed when nothing runs.
func (c *crew) idle() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	idle := make(chan struct{})
	c.waiting = append(c.waiting, idle)
	c.tell()
	return idle
}

func (c *crew) done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	c.tell()
}

func (c *crew) tell() {
	if c.running > 0 {
		return
	}
	for _, idle := range c.waiting {
		close(idle)
	}
	c.waiting = nil
}
