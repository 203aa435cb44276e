package load_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/bench/load"
	"github.com/holdfast-io/holdfast/messages"
)

// after returns when d has passed, in virtual time.
func after(d time.Duration) { <-time.After(d) }

// Only calls that return within the measured time count, and each worker finishes what it has begun.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, ended := time.Duration(0), time.Duration(0)
		start := time.Now()
		finished := make([]int, 3)
		r, err := load.Run(t.Context(), load.Plan{
			Workers: 3, Warm: 95 * time.Millisecond, For: time.Second,
			Begin: func() { began = time.Since(start) },
			End:   func() { ended = time.Since(start) },
		}, func(n int) load.Work {
			return func(_ context.Context, m *load.Meter) error {
				err := m.Time(messages.OpAcquire, func() error { after(10 * time.Millisecond); return nil })
				_ = m.Time(messages.OpRelease, func() error { return errors.New("refused") })
				finished[n]++
				return err
			}
		})
		if err != nil || began != 95*time.Millisecond || ended != 1095*time.Millisecond || r.Elapsed != time.Second {
			t.Errorf("it ran from %v to %v: %v, %v", began, ended, r.Elapsed, err)
		}
		if !slices.Equal(finished, []int{110, 110, 110}) {
			t.Errorf("rounds of the workers: %v", finished)
		}
		l := r.Latencies[messages.OpAcquire]
		if l.Count() != 300 || r.Rate(messages.OpAcquire) != 300 ||
			l.Quantile(0.5).Round(time.Millisecond) != 10*time.Millisecond {
			t.Errorf("%d calls, %v a second, p50 %v", l.Count(), r.Rate(messages.OpAcquire), l.Quantile(0.5))
		}
		if failures := r.Failures[load.Failure{Op: messages.OpRelease, Code: load.CodeOther}]; failures != 300 {
			t.Errorf("%d failures", failures)
		}
	})
}

// The end of the context ends the run early, without an error. The workers' own context lives on.
func TestRunInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		r, err := load.Run(ctx, load.Plan{Workers: 1, For: time.Hour}, func(int) load.Work {
			return func(working context.Context, _ *load.Meter) error {
				after(30 * time.Millisecond)
				return working.Err()
			}
		})
		if err != nil || r.Elapsed != 100*time.Millisecond {
			t.Errorf("it ran for %v: %v", r.Elapsed, err)
		}
	})
}

// The error of a worker ends the run of all.
func TestRunFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		want := errors.New("broken")
		_, err := load.Run(t.Context(), load.Plan{Workers: 2, For: time.Hour}, func(n int) load.Work {
			return func(working context.Context, _ *load.Meter) error {
				if n == 0 {
					return want
				}
				<-working.Done()
				return working.Err()
			}
		})
		if !errors.Is(err, want) {
			t.Errorf("got %v", err)
		}
	})
}

func TestShares(t *testing.T) {
	const workers, resources = 3, 8
	seen := make(map[int]int)
	for worker := range workers {
		s := load.NewShare(worker, workers, resources)
		first := s.Next()
		seen[first]++
		for next := s.Next(); next != first; next = s.Next() {
			seen[next]++
		}
	}
	for resource := range resources {
		if seen[resource] != 1 {
			t.Errorf("resource %d belongs to %d workers", resource, seen[resource])
		}
	}
	if len(seen) != resources {
		t.Errorf("the shares are %v", seen)
	}
}

func TestLatencies(t *testing.T) {
	var none *load.Latencies
	if none.Count() != 0 || none.Quantile(0.5) != 0 || none.Merge(nil).Count() != 0 {
		t.Error("nil is not empty")
	}
}
