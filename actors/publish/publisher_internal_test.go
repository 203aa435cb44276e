package publish

import (
	"context"
	"testing"
	"testing/synctest"
)

// A publisher whose term ends while it waits for its predecessor ends at once; the next one waits for the
// predecessor all the same.
func TestPublisherDoesNotOutliveItsTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := &Publisher{done: make(chan struct{})}
		second := &Publisher{done: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			second.Run(ctx, first)
			close(ended)
		}()
		cancel()
		<-ended
		if second.wait(ctx) {
			t.Error("the second counts as ended while the first publishes")
		}
		close(first.done)
		<-second.done
	})
}
