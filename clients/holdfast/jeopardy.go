package holdfast

import (
	"slices"
	"sync"
)

// jeopardy is the calls of the application's hook that are to be made, in order, on a goroutine that ends when there is
// nothing to tell.
type jeopardy struct {
	mu    sync.Mutex
	queue []notice
}

// notice is one call of the hook.
type notice struct {
	lock *Lock
	err  error
}

// tellJeopardy has the hook called for each of the locks, unless there is none or the client has been closed.
func (c *Client) tellJeopardy(locks []*Lock, err error) {
	if c.cfg.jeopardy == nil {
		return
	}
	j := &c.jeopardy
	j.mu.Lock()
	defer j.mu.Unlock()
	if c.life.Err() != nil {
		return
	}
	idle := len(j.queue) == 0
	for _, l := range locks {
		j.queue = append(j.queue, notice{l, err})
	}
	if idle && len(j.queue) > 0 {
		c.goroutines.Go(c.tellAllJeopardy)
	}
}

func (c *Client) tellAllJeopardy() {
	j := &c.jeopardy
	for {
		j.mu.Lock()
		told := j.queue
		j.mu.Unlock()
		for _, n := range told {
			if c.life.Err() == nil {
				c.cfg.jeopardy(n.lock, n.err)
			}
		}
		j.mu.Lock()
		j.queue = slices.Delete(j.queue, 0, len(told))
		done := len(j.queue) == 0
		j.mu.Unlock()
		if done {
			return
		}
	}
}
