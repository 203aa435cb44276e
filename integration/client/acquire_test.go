package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
)

func TestAcquire(t *testing.T) {
	url := newService(t).URL() // tokens begin at 1
	c, other := newClient(t, url), newClient(t, url)

	t.Run("Deadline", func(t *testing.T) {
		l := mustAcquire(t, c, t.Name())
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		got, err := other.Acquire(ctx, t.Name())
		if got != nil || !errors.Is(err, holdfast.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, %v, want ErrTimeout and DeadlineExceeded", got, err)
		}
		untilWaiting(t, c, t.Name(), 0)
		mustRelease(t, l)
		untilFree(t, c, t.Name())
	})

	t.Run("Cancelled", func(t *testing.T) {
		l := mustAcquire(t, c, t.Name())
		why := errors.New("changed my mind")
		ctx, cancel := context.WithCancelCause(t.Context())
		done := acquiring(ctx, other, t.Name())
		untilWaiting(t, c, t.Name(), 1)
		cancel(why)
		o := <-done
		if o.lock != nil || !errors.Is(o.err, context.Canceled) || !errors.Is(o.err, why) ||
			errors.Is(o.err, holdfast.ErrTimeout) {
			t.Errorf("got %v, %v, want Canceled and the cause", o.lock, o.err)
		}
		untilWaiting(t, c, t.Name(), 0)
		mustRelease(t, l)
	})
}

func TestOptions(t *testing.T) {
	t.Run("ClosedConnection", func(t *testing.T) {
		nc := stand.Dial(t, url)
		nc.Close()
		if c, err := holdfast.New(nc); c != nil || err == nil {
			t.Errorf("got %v, %v, want an error", c, err)
		}
	})

	t.Run("OtherPrefix", func(t *testing.T) {
		c := newClient(t, url, holdfast.Prefix("elsewhere"), holdfast.Timeout(100*time.Millisecond))
		if _, err := c.Get(testContext(t), t.Name()); !errors.Is(err, holdfast.ErrUnavailable) {
			t.Errorf("got %v, want ErrUnavailable: there is no node", err)
		}
	})

	t.Run("Defaults", func(t *testing.T) {
		c := newClient(t, url, holdfast.Defaults(holdfast.TTL(5*time.Second), holdfast.Owner("ann")),
			holdfast.Defaults(holdfast.Ephemeral()))
		l := mustAcquire(t, c, t.Name(), holdfast.Owner("bob"))
		if s := mustGet(t, c, t.Name()); s.TTL != 5*time.Second || s.Owner != "bob" || !s.Ephemeral {
			t.Errorf("got %+v", s)
		}
		mustRelease(t, l)
	})

	t.Run("Owner", func(t *testing.T) {
		a, b := newClient(t, url), newClient(t, url)
		l, m := mustAcquire(t, a, t.Name()+"1"), mustAcquire(t, b, t.Name()+"2")
		if l.Owner() == m.Owner() || strings.Count(l.Owner(), ":") < 2 {
			t.Errorf("got the owners %q and %q", l.Owner(), m.Owner())
		}
	})

	t.Run("MetadataIsCopied", func(t *testing.T) {
		c := newClient(t, url)
		m := map[string]string{"k": "before"}
		o := holdfast.Metadata(m)
		m["k"] = "after"
		mustAcquire(t, c, t.Name(), o)
		if got := mustGet(t, c, t.Name()).Metadata["k"]; got != "before" {
			t.Errorf("got %q", got)
		}
	})
}
