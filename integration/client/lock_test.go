package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/proxy"
	"github.com/holdfast-io/holdfast/integration/stand"
)

type key struct{}

func TestLock(t *testing.T) {
	url := newService(t).URL() // tokens begin at 1
	c := newClient(t, url)

	t.Run("Names", func(t *testing.T) {
		l := mustAcquire(t, c, t.Name(), holdfast.Owner("ann"))
		if got := fmt.Sprint(l.Token()); got != "000000000000001" {
			t.Errorf("the token prints as %q", got)
		}
		if got, want := l.String(), fmt.Sprintf("%q with token 000000000000001", t.Name()); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if want := (holdfast.Claim{Resource: t.Name(), Token: 1}); l.Claim() != want || l.Owner() != "ann" || l.Resource() != t.Name() {
			t.Errorf("got %v of %q", l.Claim(), l.Owner())
		}
	})

	t.Run("Context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.WithValue(testContext(t), key{}, "value"))
		l := stand.Value(c.Acquire(ctx, t.Name()))(t)
		cancel()
		if l.Context().Err() != nil || l.Context().Value(key{}) != "value" {
			t.Errorf("got %v with %v", l.Context().Err(), l.Context().Value(key{}))
		}
		if claim, ok := holdfast.ClaimFromContext(l.Context()); !ok || claim != l.Claim() {
			t.Errorf("got %v, want %v", claim, l.Claim())
		}
		mustRelease(t, l)
		if cause := context.Cause(l.Context()); !errors.Is(cause, holdfast.ErrReleased) || l.Context().Err() == nil {
			t.Errorf("got %v, want ErrReleased", cause)
		}
		select {
		case <-l.Lost():
			t.Error("a released lock is not a lost one")
		default:
		}
		if l.Valid() {
			t.Error("a released lock is not valid")
		}
	})

	t.Run("ContextDeadline", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		l := stand.Value(c.Acquire(ctx, t.Name()))(t)
		want, _ := ctx.Deadline()
		if deadline, ok := l.Context().Deadline(); !ok || !deadline.Equal(want) {
			t.Errorf("got the deadline %v, %v, want %v", deadline, ok, want)
		}
		await(t, "the context ends at its deadline", l.Context().Done())
		if err := l.Context().Err(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want DeadlineExceeded", err)
		}
		if !l.Valid() {
			t.Error("the lock ended with the deadline")
		}
		mustRelease(t, l)
	})

	t.Run("Deadline", func(t *testing.T) {
		const ttl = 10 * time.Second
		before := time.Now()
		l := mustAcquire(t, c, t.Name(), holdfast.TTL(ttl))
		left := time.Until(l.Deadline())
		if most := ttl - time.Second; left > most || l.Deadline().Sub(before) < most-ttl/2 {
			t.Errorf("got %v, want a little less than %v", left, most)
		}
		if !l.Valid() {
			t.Error("not valid")
		}
	})
}

func TestRelease(t *testing.T) {
	c, other := newClient(t, url), newClient(t, url)

	t.Run("Again", func(t *testing.T) {
		l := mustAcquire(t, c, t.Name())
		mustRelease(t, l)
		next := mustAcquire(t, other, t.Name())
		for range 3 {
			if err := l.Release(testContext(t)); err != nil {
				t.Errorf("got %v, want what the first release returned", err)
			}
		}
		if s := mustGet(t, c, t.Name()); s.Token != next.Token() || !s.Held {
			t.Errorf("got %+v, want the next one untouched", s)
		}
	})

	t.Run("AfterTheContext", func(t *testing.T) {
		l := mustAcquire(t, c, t.Name())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.Release(ctx); err != nil {
			t.Error(err)
		}
		if mustGet(t, other, t.Name()).Held {
			t.Error("still held")
		}
	})
}

func TestExtend(t *testing.T) {
	other := newClient(t, url)
	ctx := testContext(t)

	t.Run("ContextEnded", func(t *testing.T) {
		p := proxy.New(t, url)
		l := mustAcquire(t, newClient(t, p.URL()), t.Name(), holdfast.NoRenewal())
		before := l.Deadline()
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		if err := l.Extend(ctx, time.Hour); !errors.Is(err, holdfast.ErrUnavailable) ||
			!errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want ErrUnavailable and Canceled", err)
		}
		mustGet(t, other, t.Name())
		if s := mustGet(t, other, t.Name()); s.TTL != holdfast.DefaultTTL || !l.Deadline().Equal(before) ||
			p.Count("extend") > 0 {
			t.Errorf("the lease was changed: %+v, deadline %v, before %v", s, l.Deadline(), before)
		}
	})

	t.Run("ContextEnds", func(t *testing.T) {
		p := proxy.New(t, url)
		l := mustAcquire(t, newClient(t, p.URL()), t.Name())
		p.OnAnswers("extend", proxy.Always(proxy.Lose))
		ctx, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
		defer cancel()
		if err := l.Extend(ctx, time.Minute); !errors.Is(err, holdfast.ErrUnknown) ||
			!errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want ErrUnknown and DeadlineExceeded", err)
		}
	})
}

// untilOutlived waits until the lease that a lock has now would have expired, if it were not renewed.
func untilOutlived(t *testing.T, l *holdfast.Lock) {
	t.Helper()
	deadline := l.Deadline()
	stand.Eventually(t, "the lock outlives its TTL", func() bool {
		if !l.Valid() {
			t.Fatal(context.Cause(l.Context()))
		}
		return time.Now().After(deadline)
	})
}
