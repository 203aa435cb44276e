package holdfast

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/holdfast-io/holdfast/clients/internal/clock"
	"github.com/holdfast-io/holdfast/clients/internal/group"
	"github.com/holdfast-io/holdfast/clients/request"
)

const (
	// maxWorking bounds the jobs that are tried at a time, maxJobs all of them.
	maxWorking = 32
	maxJobs    = 4096
	// jobTurn is how long a job is tried before another one has its turn.
	jobTurn = 5 * time.Second
)

// background does what is left to do for calls that have returned: it releases leases that are not wanted,
// and takes requests out of queues. A job that does not fit is not done: the lease then runs out by its TTL
// and the place in the queue by its wait.
type background struct {
	// duty ends all jobs, and goroutines has one for each. off reports whether no job can succeed any more.
	duty       context.Context
	goroutines *group.Group
	off        func() bool

	jobs atomic.Int64
	// working is full while as many jobs as may be are tried.
	working chan struct{}
}

// job is tried until it is done or cannot matter any more.
type job struct {
	until time.Time
	do    func(context.Context) (done bool)
	// end is called once when it is over, done or not. It may be nil.
	end func()
}

// add does a job, and does not wait for it.
func (b *background) add(j job) {
	if b.jobs.Add(1) > maxJobs || !b.goroutines.Go(func() { b.work(j) }) {
		b.over(j)
	}
}

// work tries the job, in turn with others.
func (b *background) work(j job) {
	defer b.over(j)
	for {
		select {
		case b.working <- struct{}{}:
		case <-b.duty.Done():
			return
		}
		done := b.attempt(j)
		<-b.working
		if done {
			return
		}
	}
}

// attempt gives a job one turn and reports whether it is over.
func (b *background) attempt(j job) bool {
	ctx, cancel := context.WithTimeoutCause(b.duty, min(jobTurn, clock.Until(j.until)), request.ErrNoAnswer)
	defer cancel()
	return ctx.Err() != nil || j.do(ctx) || b.off() || !clock.Now().Before(j.until)
}

func (b *background) over(j job) {
	b.jobs.Add(-1)
	if j.end != nil {
		j.end()
	}
}
