package holdfast

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/clients/internal/clock"
	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// bareClient returns a client that sends nothing.
func bareClient(t *testing.T) *Client {
	t.Helper()
	c := &Client{core: core{life: t.Context(), sender: new(request.Sender), begun: clock.Now(),
		deployment: newDeployment()}}
	c.join()
	return c
}

// A lease that is not renewed is lost when it must be considered over. The context and the channel tell, whether they
// were asked for before or after.
func TestEndOfALease(t *testing.T) {
	const ttl = 30 * time.Second
	synctest.Test(t, func(t *testing.T) {
		c := bareClient(t)
		lease := &messages.Lease{Resource: "r", Owner: "me", Token: 1, TtlMs: 30_000, RemainingMs: 30_000}
		h := c.handles.newHandle("r", "r", &messages.Reply{Lease: lease}, clock.Now(),
			&acquireOptions{owner: "me", ttl: ttl, byHand: true, ephemeral: true})
		before, after := h.attach(t.Context(), kind{}), h.attach(t.Context(), kind{})
		begun, want := time.Now(), time.Until(before.Deadline())
		ctx, lost := before.Context(), before.Lost()
		<-ctx.Done()
		<-lost
		if took := time.Since(begun); took != want || want >= ttl {
			t.Errorf("lost after %v, want %v, less than %v", took, want, ttl)
		}
		for _, ctx := range []context.Context{ctx, after.Context()} {
			if err := context.Cause(ctx); !errors.Is(err, ErrLost) {
				t.Errorf("the context has ended with %v, want ErrLost", err)
			}
		}
		select {
		case <-after.Lost():
		default:
			t.Error("the channel that is asked for later is open")
		}
	})
}

// A machine that has slept past the end of a lease has lost the lock when it wakes: at once for all who ask, and within
// a second for the context, though all timers are late.
func TestLossInASuspend(t *testing.T) {
	const ttl = time.Hour
	synctest.Test(t, func(t *testing.T) {
		c := bareClient(t)
		lease := &messages.Lease{Resource: "r", Owner: "me", Token: 1, TtlMs: 3_600_000, RemainingMs: 3_600_000}
		newLock := func() *Lock {
			h := c.handles.newHandle("r", "r", &messages.Reply{Lease: lease}, clock.Now(),
				&acquireOptions{owner: "me", ttl: ttl, byHand: true, ephemeral: true})
			return h.attach(t.Context(), kind{})
		}
		l, asked := newLock(), newLock()
		ctx, begun := l.Context(), time.Now()
		<-time.After(10 * time.Second)
		clock.Suspend(30 * time.Minute)
		if left := time.Until(l.Deadline()); !l.Valid() || left > ttl-30*time.Minute-10*time.Second ||
			left < 29*time.Minute {
			t.Errorf("after half of the lease: valid %v, %v are left", l.Valid(), left)
		}
		<-time.After(500 * time.Millisecond)
		clock.Suspend(30 * time.Minute)
		if left := time.Until(l.Deadline()); l.Valid() || left > 0 {
			t.Errorf("after the lease: valid %v, %v are left", l.Valid(), left)
		}
		if asked.Context().Err() == nil {
			t.Error("a context that is asked for after the lease has not ended")
		}
		<-ctx.Done()
		if took := time.Since(begun) - 10500*time.Millisecond; took > time.Second || !errors.Is(context.Cause(ctx), ErrLost) {
			t.Errorf("the context has ended after %v with %v, want ErrLost within a second", took, context.Cause(ctx))
		}
	})
}

// The context of a lock that was released has ended, and the channel shows no loss.
func TestContextAfterRelease(t *testing.T) {
	h := new(handle)
	h.mu = &h.own
	l := &Lock{h: h, parent: t.Context()}
	l.end(ErrReleased)
	if err := context.Cause(l.Context()); !errors.Is(err, ErrReleased) {
		t.Errorf("the context has ended with %v, want ErrReleased", err)
	}
	select {
	case <-l.Lost():
		t.Error("a lock that was released is called lost")
	default:
	}
}
