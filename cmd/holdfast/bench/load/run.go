// Package load runs a load of lock requests and measures it. It serves the bench command and integration/peers,
// so that both measure alike. It knows plain requests of the wire contract ([Client]); a caller that measures
// another service provides a [Work] for it.
package load

import (
	"context"
	"sync"
	"time"
)

// Work is what one worker repeats: its calls, each through [Meter.Time]. Only one goroutine calls it. An error ends
// the whole run.
type Work func(ctx context.Context, m *Meter) error

// Plan says how a load is run.
type Plan struct {
	// Workers is the number of goroutines.
	Workers int
	// Warm is how long the load runs before calls count; For is how long they count after that.
	Warm, For time.Duration
	// Begin and End are called when the measured time begins and ends; nil: nothing is called.
	Begin, End func()
}

// Run runs the load until its time has passed or ctx ends, and returns the measurement. worker returns the work of
// the nth worker, counted from 0. Each does it at least once. At the end each worker finishes the calls that it has
// begun, so that no lock stays held; ctx does not interrupt them. An error is the first that a worker returned.
func Run(ctx context.Context, p Plan, worker func(n int) Work) (*Result, error) {
	working, fail := context.WithCancelCause(context.WithoutCancel(ctx))
	defer fail(nil)
	m := newMeter()
	var workers sync.WaitGroup
	for n := range p.Workers {
		work := worker(n)
		workers.Go(func() {
			for begun := false; !begun || !m.isOver(); begun = true {
				if err := work(working, m); err != nil {
					fail(err)
					return
				}
			}
		})
	}
	p.measure(ctx, working, m)
	workers.Wait()
	return m.result(), context.Cause(working)
}

// measure takes the meter through its states.
func (p *Plan) measure(ctx, working context.Context, m *Meter) {
	defer m.finish()
	if !wait(ctx, working, p.Warm) {
		return
	}
	call(p.Begin)
	m.begin()
	wait(ctx, working, p.For)
	m.finish()
	call(p.End)
}

func call(f func()) {
	if f != nil {
		f()
	}
}

// wait returns false if a context ends before d has passed.
func wait(ctx, working context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-working.Done():
	}
	return false
}
