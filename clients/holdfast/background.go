package holdfast

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/clients/internal/clock"
	"github.com/holdfast-io/holdfast/clients/internal/group"
	"github.com/holdfast-io/holdfast/clients/request"
)

const (
	// maxWorkers bounds the goroutines that do background work, maxJobs the jobs that are queued.
	maxWorkers = 32
	maxJobs    = 4096
	// jobTurn is how long a job is tried before the next one has its turn.
	jobTurn = 5 * time.Second
)

// background does what is left to do for calls that have returned: it releases leases that are not wanted,
// and takes requests out of queues. A job that does not fit is not done: the lease then runs out by its TTL
// and the place in the queue by its wait.
type background struct {
	// duty ends all jobs, and goroutines has the workers. off reports whether no job can succeed any more.
	duty       context.Context
	goroutines *group.Group
	off        func() bool

	mu      sync.Mutex
	queue   []job
	workers int
}

// job is tried until it is done or cannot matter any more.
type job struct {
	until time.Time
	do    func(context.Context) (done bool)
	// end is called once when it is over, done or not. It may be nil.
	end func()
}

// add queues a job, and starts a worker for it if there are not enough.
func (b *background) add(j job) {
	if !b.enqueue(j) {
		j.over()
	} else if b.needsWorker() && !b.goroutines.Go(b.work) {
		b.work() // the client has been closed, so duty ends and each job is over at once
	}
}

// work does jobs until there are none.
func (b *background) work() {
	for {
		j, ok := b.next()
		switch {
		case !ok:
			return
		case b.attempt(j), !b.enqueue(j):
			j.over()
		}
	}
}

// attempt gives a job one turn and reports whether it is over.
func (b *background) attempt(j job) bool {
	ctx, cancel := context.WithTimeoutCause(b.duty, min(jobTurn, clock.Until(j.until)), request.ErrNoAnswer)
	defer cancel()
	return ctx.Err() != nil || j.do(ctx) || b.off() || !clock.Now().Before(j.until)
}

func (j job) over() {
	if j.end != nil {
		j.end()
	}
}

func (b *background) enqueue(j job) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) >= maxJobs {
		return false
	}
	b.queue = append(b.queue, j)
	return true
}

// needsWorker reports whether one more worker is to start, and counts it then.
func (b *background) needsWorker() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.workers == maxWorkers || len(b.queue) == 0 {
		return false
	}
	b.workers++
	return true
}

// next returns the first job. If there is none, the worker that asks ends.
func (b *background) next() (j job, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 0 {
		b.workers--
		return job{}, false
	}
	j, b.queue = b.queue[0], b.queue[1:]
	return j, true
}
