package client_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/proxy"
	"github.com/holdfast-io/holdfast/integration/stand"
)

func TestClose(t *testing.T) {
	other := newClient(t, url)

	t.Run("LaterCalls", func(t *testing.T) {
		c := newClient(t, url)
		l := mustAcquire(t, c, t.Name())
		if err := c.Close(testContext(t)); err != nil {
			t.Error(err)
		}
		ctx := testContext(t)
		for name, call := range map[string]func() error{
			"Acquire":    func() error { _, err := c.Acquire(ctx, t.Name()); return err },
			"TryAcquire": func() error { _, err := c.TryAcquire(ctx, t.Name()); return err },
			"Do":         func() error { return c.Do(ctx, t.Name(), noWork) },
			"Get":        func() error { _, err := c.Get(ctx, t.Name()); return err },
			"Break":      func() error { return c.Break(ctx, t.Name(), 1, "") },
			"Info":       func() error { _, err := c.Info(ctx); return err },
			"List":       func() error { return firstError(c.List(ctx, "")) },
		} {
			if err := call(); !errors.Is(err, holdfast.ErrClosed) {
				t.Errorf("%s: got %v, want ErrClosed", name, err)
			}
		}
		if err := l.Extend(ctx, time.Second); !errors.Is(err, holdfast.ErrReleased) {
			t.Errorf("got %v, want ErrReleased", err)
		}
		if err := l.Release(ctx); err != nil {
			t.Errorf("got %v, want what Close found", err)
		}
	})

	// Close comes at any moment of any call, and leaves nothing behind.
	t.Run("AtAnyMoment", func(t *testing.T) {
		for i := range 40 {
			c := newClient(t, url)
			var calls sync.WaitGroup
			for j := range 20 {
				calls.Go(func() {
					for range 5 {
						if _, err := c.Acquire(testContext(t), fmt.Sprint(t.Name(), j%10), holdfast.TTL(time.Hour)); err != nil {
							if !errors.Is(err, holdfast.ErrClosed) {
								t.Error(err)
							}
							return
						}
					}
				})
			}
			<-soon(t, time.Duration(i)*time.Millisecond+1).Done()
			if err := c.Close(testContext(t)); err != nil {
				t.Error(err)
			}
			calls.Wait()
			for j := range 10 {
				if s := mustGet(t, other, fmt.Sprint(t.Name(), j)); s.Held || s.Waiting > 0 {
					t.Fatalf("turn %d left %+v", i, s)
				}
			}
		}
	})

	t.Run("HookStuck", func(t *testing.T) {
		p := proxy.New(t, url)
		stuck, end := make(chan struct{}), make(chan struct{})
		defer close(end)
		var once sync.Once
		c := newClient(t, p.URL(), holdfast.OnJeopardy(func(*holdfast.Lock, error) {
			once.Do(func() { close(stuck) })
			<-end
		}))
		mustAcquire(t, c, t.Name(), holdfast.TTL(2*time.Second))
		p.OnAnswers("extend", proxy.First(1, proxy.Lose))
		await(t, "the hook is called", stuck)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if err := c.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want DeadlineExceeded", err)
		}
		untilFree(t, other, t.Name())
	})
}

// What the client cannot do any more, or need not do, is not waited for. The timeouts are longer than the
// test waits.
func TestNothingIsWaitedForInVain(t *testing.T) {
	t.Parallel()
	promptly := func(t *testing.T, what string, f func() error) error {
		t.Helper()
		done := make(chan error, 1)
		go func() { done <- f() }()
		select {
		case err := <-done:
			return err
		case <-testContext(t).Done():
			t.Fatalf("%s does not return", what)
			return nil
		}
	}
	timeout := holdfast.Timeout(10 * patience)

	t.Run("ConnectionClosed", func(t *testing.T) {
		t.Parallel()
		nc := stand.Dial(t, url)
		c := stand.Client(t, nc, timeout)
		l := mustAcquire(t, c, t.Name(), holdfast.TTL(time.Hour))
		waiting := acquiring(t.Context(), c, t.Name())
		untilWaiting(t, newClient(t, url), t.Name(), 1)
		nc.Close()
		if o := <-waiting; !errors.Is(o.err, nats.ErrConnectionClosed) {
			t.Errorf("Acquire: got %v, want ErrConnectionClosed", o.err)
		}
		err := promptly(t, "Close", func() error { return c.Close(t.Context()) })
		if !errors.Is(err, nats.ErrConnectionClosed) || !errors.Is(err, holdfast.ErrUnavailable) {
			t.Errorf("Close: got %v, want ErrUnavailable and ErrConnectionClosed", err)
		}
		if l.Context().Err() == nil {
			t.Error("the lock goes on")
		}
	})

	t.Run("ConnectionDrained", func(t *testing.T) {
		t.Parallel()
		nc := stand.Dial(t, url)
		c := stand.Client(t, nc, timeout)
		mustAcquire(t, c, t.Name(), holdfast.TTL(time.Hour))
		stand.Must(t, nc.Drain())
		if err := promptly(t, "Close", func() error { return c.Close(t.Context()) }); !errors.Is(err, nats.ErrConnectionClosed) {
			t.Errorf("got %v, want ErrConnectionClosed", err)
		}
	})

	// They are more than are released side by side. Those whose turn does not come are released unheard.
	t.Run("ManyLocks", func(t *testing.T) {
		t.Parallel()
		const locks = 600
		p, other := proxy.New(t, url), newClient(t, url)
		c := newClient(t, p.URL(), timeout)
		for i := range locks {
			mustAcquire(t, c, fmt.Sprint(t.Name(), i), holdfast.Ephemeral(), holdfast.TTL(time.Hour))
		}
		p.OnAnswers("release", proxy.Always(proxy.Lose))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := promptly(t, "Close", func() error { return c.Close(ctx) }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want DeadlineExceeded", err)
		}
		for i := range locks {
			untilFree(t, other, fmt.Sprint(t.Name(), i))
		}
	})
}

// A lease that the service has prolonged without the client's knowledge is released when its holder stops.
func TestLostLockIsReleased(t *testing.T) {
	t.Parallel()
	p := proxy.New(t, url)
	c, other := newClient(t, p.URL()), newClient(t, url)
	l := mustAcquire(t, c, t.Name(), holdfast.TTL(9*time.Second))
	p.OnAnswers("extend", proxy.Always(proxy.Lose))
	await(t, "the lock is lost", l.Lost())
	if s := mustGet(t, other, t.Name()); !s.Held || s.Token != l.Token() {
		t.Fatalf("got %+v, want the lease to have been prolonged", s)
	}
	n := p.Count("release")
	if err := l.Release(testContext(t)); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("got %v, want ErrLost", err)
	}
	stand.Eventually(t, "a release is sent", func() bool { return p.Count("release") == n+1 })
	untilFree(t, other, t.Name())
}
