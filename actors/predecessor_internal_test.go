package actors

import (
	"context"
	"testing"
	"testing/synctest"
)

// A publisher whose tenure ends while it waits for its predecessor ends at once; the next one waits for the
// predecessor all the same.
func TestPublisherDoesNotOutliveItsTenure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := &events{done: make(chan struct{})}
		second := &events{done: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			second.run(ctx, first)
			close(ended)
		}()
		cancel()
		<-ended
		if awaited := second.awaited(ctx); awaited {
			t.Error("the second counts as ended while the first publishes")
		}
		close(first.done)
		<-second.done
	})
}
