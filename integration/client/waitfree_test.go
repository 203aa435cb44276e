package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// waitingFree begins to wait for a resource that is held, and returns where the outcome comes once the
// client knows that it is held.
func waitingFree(t *testing.T, ctx context.Context, s *stand.Stand, resource string) <-chan error {
	t.Helper()
	nc := stand.Dial(t, s.URL())
	c := stand.Client(t, nc)
	mustGet(t, c, resource) // and nothing else of the client is under way
	before := nc.Stats().InMsgs
	done := make(chan error, 1)
	go func() { done <- c.WaitFree(ctx, resource) }()
	stand.Eventually(t, "it waits", func() bool { return nc.Stats().InMsgs > before })
	return done
}

func wantFree(t *testing.T, c *holdfast.Client, resource string, done <-chan error) {
	t.Helper()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-testContext(t).Done():
		t.Fatal("it does not return")
	}
	if mustGet(t, c, resource).Held {
		t.Error("it is held")
	}
}

func TestWaitFree(t *testing.T) {
	t.Parallel()
	s := newService(t)
	c, other := s.Client(holdfast.Defaults(holdfast.NoRenewal())), s.Client()

	t.Run("Free", func(t *testing.T) {
		t.Parallel()
		if err := c.WaitFree(t.Context(), "never held"); err != nil {
			t.Error(err)
		}
	})
	// Without events, the end would be noticed after a day only.
	for name, end := range map[string]func(*holdfast.Lock) error{
		"Released": func(l *holdfast.Lock) error { return l.Release(t.Context()) },
		"Broken":   func(l *holdfast.Lock) error { return other.Break(t.Context(), l.Resource(), l.Token(), "enough") },
		"HandedOn": func(l *holdfast.Lock) error {
			next := acquiring(t.Context(), other, l.Resource())
			untilWaiting(t, other, l.Resource(), 1)
			return errors.Join(l.Release(t.Context()), mustGrant(t, next).Release(t.Context()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := mustAcquire(t, c, name+" é", holdfast.TTL(24*time.Hour))
			done := waitingFree(t, t.Context(), s, name+" e\u0301")
			stand.Must(t, end(l))
			wantFree(t, c, l.Resource(), done)
		})
	}
	t.Run("Expired", func(t *testing.T) {
		t.Parallel()
		mustAcquire(t, c, "expired", holdfast.TTL(2*time.Second))
		wantFree(t, c, "expired", waitingFree(t, t.Context(), s, "expired"))
	})
	t.Run("Ephemeral", func(t *testing.T) {
		t.Parallel()
		l := mustAcquire(t, c, "ephemeral", holdfast.TTL(2*time.Second), holdfast.Ephemeral())
		done := waitingFree(t, t.Context(), s, "ephemeral")
		mustRelease(t, l)
		wantFree(t, c, "ephemeral", done)
	})
	t.Run("Prolonged", func(t *testing.T) {
		t.Parallel()
		l := mustAcquire(t, c, "prolonged", holdfast.TTL(9*time.Second))
		done := waitingFree(t, t.Context(), s, "prolonged")
		stand.Must(t, l.Extend(t.Context(), 10*time.Second))
		wantFree(t, c, "prolonged", done)
	})
}

func TestWaitFreeEnds(t *testing.T) {
	t.Parallel()
	s := newService(t)
	c := s.Client()
	mustAcquire(t, c, "orders.42")
	t.Run("Deadline", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := c.WaitFree(ctx, "orders.42"); !errors.Is(err, holdfast.ErrTimeout) ||
			!errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
	t.Run("Cancelled", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		done := waitingFree(t, ctx, s, "orders.42")
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) || errors.Is(err, holdfast.ErrTimeout) {
			t.Error(err)
		}
	})
	t.Run("Closed", func(t *testing.T) {
		t.Parallel()
		other := s.Client()
		done := make(chan error, 1)
		go func() { done <- other.WaitFree(t.Context(), "orders.42") }()
		stand.Must(t, other.Close(t.Context()))
		if err := <-done; !errors.Is(err, holdfast.ErrClosed) {
			t.Error(err)
		}
	})
}

// What happens while the connection is away is noticed when it is back.
func TestWaitFreeOutlivesARestart(t *testing.T) {
	t.Parallel()
	s := newService(t)
	c := s.Client(holdfast.Defaults(holdfast.NoRenewal()))
	mustAcquire(t, c, "ephemeral", holdfast.TTL(24*time.Hour), holdfast.Ephemeral())
	done := waitingFree(t, t.Context(), s, "ephemeral")
	s.Restart() // which ends the lease
	wantFree(t, c, "ephemeral", done)
}
