package client_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/proxy"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// The connection is the application's, which may stuff it, so that nothing can be written for a minute.
// The lock is lost in time all the same, and calls end with their contexts.
func TestStuffedConnection(t *testing.T) {
	t.Parallel()
	p := proxy.New(t, url)
	nc := stand.Dial(t, p.URL())
	c, rival := stand.Client(t, nc, holdfast.Timeout(100*time.Millisecond)), newClient(t, url)
	l := mustAcquire(t, c, t.Name(), holdfast.TTL(2*time.Second))
	waiting := acquiring(testContext(t), rival, t.Name())
	untilWaiting(t, rival, t.Name(), 1)
	p.Clog()
	var stuffing sync.WaitGroup
	t.Cleanup(stuffing.Wait)
	t.Cleanup(p.Resume)
	stuffing.Go(func() {
		chunk := bytes.Repeat([]byte("x"), 512<<10)
		for range 64 {
			_ = nc.Publish("bulk", chunk) // ends with the test's connection at the latest
		}
	})
	await(t, "the lock is lost", l.Lost())
	if next := mustGrant(t, waiting); l.Valid() {
		t.Errorf("%v is valid beside %v", l, next)
	}
	if _, err := c.TryAcquire(t.Context(), t.Name()+"2"); !errors.Is(err, holdfast.ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable: it never left", err)
	}
	if err := l.Release(t.Context()); err == nil {
		t.Error("released although nothing can be asked")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Acquire(ctx, t.Name()+"2"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want DeadlineExceeded", err)
	}
	if err := c.Close(ctx); err == nil {
		t.Error("closed although nothing can be released")
	}
}
