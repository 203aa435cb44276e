package holdfast

import (
	"context"
	"testing"
	"time"
)

// What does not fit is not done, and is over at once.
func TestChoresAreBounded(t *testing.T) {
	c := &Client{life: t.Context(), duty: t.Context(), off: make(chan struct{})}
	blocked, over := make(chan struct{}), make(chan struct{}, 2*mostChores)
	const asked = choresAtOnce + mostChores + 10
	for range asked {
		c.later(time.Now().Add(time.Hour), func(context.Context) bool { <-blocked; return true }, func() { over <- struct{}{} })
	}
	for range 10 {
		<-over
	}
	c.chores.mu.Lock()
	queued, workers := len(c.chores.queue), c.chores.workers
	c.chores.mu.Unlock()
	if queued > mostChores || workers != choresAtOnce {
		t.Errorf("%d are queued, and %d goroutines work", queued, workers)
	}
	close(blocked)
	<-c.crew.idle()
	if n := len(over); n != asked-10 {
		t.Errorf("%d are over, want all %d", n+10, asked)
	}
}
