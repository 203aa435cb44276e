package client_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// Ten thousand locks that came and went leave no goroutine behind.
func TestLeaksNothing(t *testing.T) {
	const locks, atOnce = 10_000, 100
	s := newService(t)
	before := runtime.NumGoroutine()
	nc := stand.Dial(t, s.URL())
	c := stand.Client(t, nc)
	use := func(n int) {
		var group sync.WaitGroup
		for w := range atOnce {
			group.Go(func() {
				for i := w; i < n; i += atOnce {
					useOne(t, c, fmt.Sprint("r", i%1000))
				}
			})
		}
		group.Wait()
	}
	use(1000)
	idle := runtime.NumGoroutine()
	use(locks)
	stand.Eventually(t, "the goroutines of the calls are gone", func() bool { return runtime.NumGoroutine() <= idle })

	held := make([]*holdfast.Lock, 1000)
	for i := range held {
		held[i] = mustAcquire(t, c, fmt.Sprint("r", i), holdfast.Ephemeral())
	}
	stand.Eventually(t, "a held lock has no goroutine", func() bool { return runtime.NumGoroutine() <= idle })

	if err := c.Close(testContext(t)); err != nil {
		t.Error(err)
	}
	nc.Close()
	stand.Eventually(t, "the client's goroutines are gone", func() bool { return runtime.NumGoroutine() <= before })
}

// useOne takes a lock in one of the ways in which one can be taken, or not.
func useOne(t *testing.T, c *holdfast.Client, resource string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l, err := c.Acquire(ctx, resource, holdfast.Ephemeral(), holdfast.Reentrant())
	if err != nil {
		t.Error(err)
		return
	}
	if _, err := c.TryAcquire(ctx, resource); err == nil {
		t.Error("granted twice")
	}
	if err := l.Extend(ctx, time.Minute); err != nil {
		t.Error(err)
	}
	if err := l.Release(ctx); err != nil {
		t.Error(err)
	}
}
