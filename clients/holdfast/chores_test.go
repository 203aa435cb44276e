package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// Calls that were given up leave few goroutines behind, however many there were, and these end.
func TestAbandonedCallsLeaveFewGoroutines(t *testing.T) {
	const calls, most = 600, 64
	p := newProxy(t, url)
	c := newClient(t, p.url())
	mustRelease(t, mustAcquire(t, c, t.Name()))
	before := runtime.NumGoroutine()
	p.blackhole()
	var group sync.WaitGroup
	for i := range calls {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			if _, err := c.Acquire(ctx, fmt.Sprint(t.Name(), i), holdfast.TTL(time.Hour)); !errors.Is(err, holdfast.ErrTimeout) {
				t.Errorf("got %v, want ErrTimeout", err)
			}
		})
	}
	group.Wait()
	if n := runtime.NumGoroutine() - before; n > most {
		t.Errorf("%d calls left %d goroutines", calls, n)
	}
	p.resume()
	until(t, "all is given back", func() bool { return runtime.NumGoroutine() <= before })
}
