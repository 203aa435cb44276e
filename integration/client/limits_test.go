package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// A node that takes few requests answers the others all the same, and a lease survives that.
func TestOverloadedByRate(t *testing.T) {
	t.Parallel()
	s := stand.Start(t, stand.Config{Shards: 1, Capacity: node.Capacity{Rate: 20, Burst: 20}})
	c := newClient(t, s.Server.ClientURL())
	l := mustAcquire(t, c, t.Name(), holdfast.TTL(9*time.Second))
	stand.Eventually(t, "one is refused", func() bool {
		_, err := c.Get(testContext(t), t.Name())
		return errors.Is(err, holdfast.ErrOverloaded)
	})
	untilOutlived(t, l)
	if !l.Valid() {
		t.Error(context.Cause(l.Context()))
	}
}

// A deployment may have tighter limits than the contract, of which the client need not know.
func TestTighterLimits(t *testing.T) {
	t.Parallel()
	limits := messages.DefaultLimits()
	limits.MaxTtlMs, limits.MinTtlMs, limits.MaxWaitMs = 60_000, 500, 200
	s := stand.Start(t, stand.Config{Shards: 1, Limits: limits})
	c := newClient(t, s.Server.ClientURL())
	ctx := testContext(t)

	for _, ttl := range []time.Duration{100 * time.Millisecond, time.Hour} {
		var e *holdfast.Error
		if _, err := c.Acquire(ctx, "r", holdfast.TTL(ttl)); !errors.Is(err, holdfast.ErrInvalid) || !errors.As(err, &e) || !strings.Contains(e.Detail, "ttl_ms") {
			t.Errorf("%v: got %v, want ErrInvalid and why", ttl, err)
		}
	}

	l := mustAcquire(t, c, "r")
	if err := l.Extend(ctx, time.Hour); !errors.Is(err, holdfast.ErrInvalid) {
		t.Errorf("extend: got %v, want ErrInvalid", err)
	}
	if err := l.Extend(ctx, time.Minute); err != nil {
		t.Errorf("extend within the limits: %v", err)
	}

	// The place in the queue is taken again and again.
	waiting := acquiring(ctx, newClient(t, s.Server.ClientURL()), "r")
	for begun := time.Now(); time.Since(begun) < 700*time.Millisecond; {
		untilWaiting(t, c, "r", 1)
	}
	mustRelease(t, l)
	mustRelease(t, mustGrant(t, waiting))
}
