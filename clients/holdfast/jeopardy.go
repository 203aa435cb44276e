package holdfast

import "slices"

// notice is what the application's hook is told.
type notice struct {
	lock *Lock
	err  error
}

// tell tells the hook, in order, on a goroutine that ends when all has been told.
func (c *Client) tell(locks []*Lock, err error) {
	if c.cfg.jeopardy == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life.Err() != nil {
		return
	}
	begin := len(c.notices) == 0
	for _, l := range locks {
		c.notices = append(c.notices, notice{l, err})
	}
	if begin && len(c.notices) > 0 {
		c.crew.start(c.tellAll)
	}
}

func (c *Client) tellAll() {
	for {
		c.mu.Lock()
		told := c.notices
		c.mu.Unlock()
		for _, n := range told {
			if c.life.Err() == nil {
				c.cfg.jeopardy(n.lock, n.err)
			}
		}
		c.mu.Lock()
		c.notices = slices.Delete(c.notices, 0, len(told))
		done := len(c.notices) == 0
		c.mu.Unlock()
		if done {
			return
		}
	}
}
