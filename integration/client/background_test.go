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
	"github.com/holdfast-io/holdfast/integration/proxy"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// Calls that were given up leave few goroutines behind, however many there were, and these end.
func TestAbandonedCallsLeaveFewGoroutines(t *testing.T) {
	const calls, most = 600, 64
	p := proxy.New(t, url)
	c := newClient(t, p.URL())
	mustRelease(t, mustAcquire(t, c, t.Name()))
	before := runtime.NumGoroutine()
	p.Blackhole()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sent := p.Count("acquire")
	var group sync.WaitGroup
	for i := range calls {
		group.Go(func() {
			if _, err := c.Acquire(ctx, fmt.Sprint(t.Name(), i), holdfast.TTL(time.Hour)); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want Canceled", err)
			}
		})
	}
	stand.Eventually(t, "all are under way", func() bool { return p.Count("acquire") >= sent+calls })
	cancel()
	group.Wait()
	if n := runtime.NumGoroutine() - before; n > most {
		t.Errorf("%d calls left %d goroutines", calls, n)
	}
	p.Resume()
	stand.Eventually(t, "all is given back", func() bool { return runtime.NumGoroutine() <= before })
}
