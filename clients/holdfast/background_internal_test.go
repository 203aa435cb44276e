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
	b := &background{duty: t.Context(), goroutines: workers, off: func() bool { return false }}
	blocked, over := make(chan struct{}), make(chan struct{}, 2*maxJobs)
	const asked = maxWorkers + maxJobs + 10
	for range asked {
		b.add(job{
			until: clock.Now().Add(time.Hour),
			do:    func(context.Context) bool { <-blocked; return true },
			end:   func() { over <- struct{}{} },
		})
	}
	for range 10 {
		<-over
	}
	b.mu.Lock()
	queued, working := len(b.queue), b.workers
	b.mu.Unlock()
	if queued > maxJobs || working != maxWorkers {
		t.Errorf("%d are queued, and %d goroutines work", queued, working)
	}
	close(blocked)
	<-workers.Idle()
	if n := len(over); n != asked-10 {
		t.Errorf("%d are over, want all %d", n+10, asked)
	}
}

// A job that comes after the client was closed is over at once, and is not done.
func TestJobAfterClose(t *testing.T) {
	var workers group.Group
	workers.Close()
	duty, cease := context.WithCancel(t.Context())
	cease()
	b := background{duty: duty, goroutines: &workers, off: func() bool { return false }}
	over := 0
	b.add(job{
		until: clock.Now().Add(time.Hour),
		do:    func(context.Context) bool { t.Error("the job is done"); return true },
		end:   func() { over++ },
	})
	if over != 1 || b.workers != 0 || len(b.queue) != 0 {
		t.Errorf("over %d times, %d workers, %d queued", over, b.workers, len(b.queue))
	}
}
