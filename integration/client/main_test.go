package client_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// patience of a test with something that must happen.
const patience = time.Minute

// url is where the tests find a service that do not need their own.
var url string

func TestMain(m *testing.M) {
	flag.Parse()
	stand.AtOnce(8)
	os.Exit(fencetest.Main(m, func(tb testing.TB) {
		tb.Helper()
		url = newService(tb).URL()
	}))
}

// newClient returns a client that ends with the test.
func newClient(tb testing.TB, url string, opts ...holdfast.Option) *holdfast.Client {
	tb.Helper()
	return stand.Client(tb, stand.Dial(tb, url), opts...)
}

// testContext bounds what a test waits for.
func testContext(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	tb.Cleanup(cancel)
	return ctx
}

func mustAcquire(tb testing.TB, c *holdfast.Client, resource string, opts ...holdfast.AcquireOption) *holdfast.Lock {
	tb.Helper()
	return stand.Value(c.Acquire(testContext(tb), resource, opts...))(tb)
}

func mustRelease(tb testing.TB, l *holdfast.Lock) {
	tb.Helper()
	stand.Must(tb, l.Release(testContext(tb)))
}

func mustGet(tb testing.TB, c *holdfast.Client, resource string) *holdfast.State {
	tb.Helper()
	return stand.Value(c.Get(testContext(tb), resource))(tb)
}

// await waits for a channel to be closed.
func await(tb testing.TB, what string, c <-chan struct{}) {
	tb.Helper()
	select {
	case <-c:
	case <-testContext(tb).Done():
		tb.Fatalf("timed out waiting until %s", what)
	}
}

// untilWaiting waits until so many are queued for the resource.
func untilWaiting(tb testing.TB, c *holdfast.Client, resource string, n int) {
	tb.Helper()
	stand.Eventually(tb, fmt.Sprint(n, " wait for ", resource),
		func() bool { return mustGet(tb, c, resource).Waiting == n })
}

// untilFree waits until the resource is free and its queue is empty.
func untilFree(tb testing.TB, c *holdfast.Client, resource string) {
	tb.Helper()
	stand.Eventually(tb, resource+" is free", func() bool {
		s := mustGet(tb, c, resource)
		return !s.Held && s.Waiting == 0
	})
}

// outcome is what an Acquire has come to.
type outcome struct {
	lock *holdfast.Lock
	err  error
}

// acquiring begins to acquire and returns where the outcome comes.
func acquiring(ctx context.Context, c *holdfast.Client, resource string,
	opts ...holdfast.AcquireOption) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		l, err := c.Acquire(ctx, resource, opts...)
		done <- outcome{l, err}
	}()
	return done
}

func mustGrant(tb testing.TB, done <-chan outcome) *holdfast.Lock {
	tb.Helper()
	select {
	case o := <-done:
		if o.err != nil {
			tb.Fatal(o.err)
		}
		return o.lock
	case <-testContext(tb).Done():
		tb.Fatal("no outcome")
		return nil
	}
}

// newService starts a service of the test's own.
func newService(tb testing.TB) *stand.Stand {
	tb.Helper()
	return stand.Start(tb, stand.Config{})
}

func noWork(context.Context, *holdfast.Lock) error { return nil }
