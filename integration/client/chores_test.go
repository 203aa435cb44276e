package client_test

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
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sent := p.count("acquire")
	var group sync.WaitGroup
	for i := range calls {
		group.Go(func() {
			if _, err := c.Acquire(ctx, fmt.Sprint(t.Name(), i), holdfast.TTL(time.Hour)); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want Canceled", err)
			}
		})
	}
	until(t, "all are under way", func() bool { return p.count("acquire") >= sent+calls })
	cancel()
	group.Wait()
	if n := runtime.NumGoroutine() - before; n > most {
		t.Errorf("%d calls left %d goroutines", calls, n)
	}
	p.resume()
	until(t, "all is given back", func() bool { return runtime.NumGoroutine() <= before })
}
