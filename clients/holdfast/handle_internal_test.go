package holdfast

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// A lease that is not renewed is lost when it must be considered over. The context and the channel tell, whether they
// were asked for before or after.
func TestEndOfALease(t *testing.T) {
	const ttl = 30 * time.Second
	synctest.Test(t, func(t *testing.T) {
		c := &Client{life: t.Context(), sender: new(request.Sender), begun: time.Now()}
		lease := &messages.Lease{Resource: "r", Owner: "me", Token: 1, TtlMs: 30_000, RemainingMs: 30_000}
		h := newHandle(c, "r", lease, time.Now(), terms{owner: "me", ttl: ttl, byHand: true, ephemeral: true})
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

// The context of a lock that was released has ended, and the channel tells of no loss.
func TestContextAfterRelease(t *testing.T) {
	l := &Lock{h: new(handle), parent: t.Context()}
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
