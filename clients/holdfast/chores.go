package holdfast

import (
	"context"
	"sync"
	"time"
)

const (
	// choresAtOnce bounds the goroutines that do chores, mostChores those that wait.
	choresAtOnce = 32
	mostChores   = 4096
	// choreTurn is how long a chore is tried before the next one has its turn.
	choreTurn = 5 * time.Second
)

// chores is what the client does for calls that have returned: it gives back leases that nobody wants, and
// takes requests out of queues. What does not fit is not done: the lease then runs out by its TTL and the
// place in the queue by its wait. The zero chores is empty.
type chores struct {
	mu      sync.Mutex
	queue   []chore
	workers int
}

// chore is tried until it is done or cannot matter any more.
type chore struct {
	until time.Time
	do    func(context.Context) (done bool)
	// end is called once when it is over, done or not.
	end func()
}

// later takes a chore on. end may be nil.
func (c *Client) later(until time.Time, do func(context.Context) bool, end func()) {
	job := chore{until: until, do: do, end: end}
	if !c.chores.add(job) {
		job.over()
		return
	}
	if c.chores.hire() && !c.crew.start(c.work) {
		c.chores.abandon()
	}
}

// work does chores until there are none.
func (c *Client) work() {
	for {
		job, ok := c.chores.next()
		switch {
		case !ok:
			return
		case c.attempt(job), !c.chores.add(job):
			job.over()
		}
	}
}

// attempt gives a chore one turn and reports whether it is over.
func (c *Client) attempt(j chore) bool {
	turn := time.Now().Add(choreTurn)
	if turn.After(j.until) {
		turn = j.until
	}
	ctx, cancel := context.WithDeadlineCause(c.duty, turn, errPatience)
	defer cancel()
	return ctx.Err() != nil || j.do(ctx) || c.isOff() || !time.Now().Before(j.until)
}

func (j chore) over() {
	if j.end != nil {
		j.end()
	}
}

func (s *chores) add(j chore) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) >= mostChores {
		return false
	}
	s.queue = append(s.queue, j)
	return true
}

// hire reports whether one more goroutine is to work.
func (s *chores) hire() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.workers == choresAtOnce || len(s.queue) == 0 {
		return false
	}
	s.workers++
	return true
}

// abandon drops all chores, because nothing works on them any more.
func (s *chores) abandon() {
	s.mu.Lock()
	queue := s.queue
	s.queue, s.workers = nil, s.workers-1
	s.mu.Unlock()
	for _, j := range queue {
		j.over()
	}
}

// next returns the first chore, or takes leave of the worker.
func (s *chores) next() (j chore, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		s.workers--
		return chore{}, false
	}
	j, s.queue = s.queue[0], s.queue[1:]
	return j, true
}
