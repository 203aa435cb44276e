package holdfast

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/internal/clock"
	"github.com/holdfast-io/holdfast/clients/internal/group"
)

// A job that does not fit is not done, and is over at once.
func TestBackgroundIsBounded(t *testing.T) {
	workers := new(group.Group)
	b := &background{duty: t.Context(), goroutines: workers, off: func() bool { return false },
		working: make(chan struct{}, maxWorking)}
	blocked, over := make(chan struct{}), make(chan struct{}, 2*maxJobs)
	begun := make(chan struct{}, maxJobs)
	const asked = maxJobs + 10
	for range asked {
		b.add(job{
			until: clock.Now().Add(time.Hour),
			do:    func(context.Context) bool { begun <- struct{}{}; <-blocked; return true },
			end:   func() { over <- struct{}{} },
		})
	}
	for range 10 {
		<-over
	}
	for range maxWorking {
		<-begun
	}
	if n := len(begun); n > 0 {
		t.Errorf("%d jobs are tried at a time, want %d", maxWorking+n, maxWorking)
	}
	close(blocked)
	<-workers.Idle()
	if n := len(over); n != asked-10 {
		t.Errorf("%d are over, want all %d", n+10, asked)
	}
}
