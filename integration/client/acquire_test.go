package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/proxy"
	"github.com/holdfast-io/holdfast/integration/stand"
)

func TestAcquire(t *testing.T) {
	url := newService(t).URL() // tokens begin at 1
	c, other := newClient(t, url), newClient(t, url)

	t.Run("Free", func(t *testing.T) {
		l := mustAcquire(t, c, t.Name(), holdfast.TTL(7*time.Second), holdfast.Owner("ann"),
			holdfast.Metadata(map[string]string{"why": "test"}))
		s := mustGet(t, other, t.Name())
		if !s.Held || s.Owner != "ann" || s.Token != l.Token() || s.TTL != 7*time.Second || s.Ephemeral ||
			s.Metadata["why"] != "test" {
			t.Errorf("got %+v, want %v", s, l)
		}
		mustRelease(t, l)
		if s := mustGet(t, other, t.Name()); s.Held || s.Token != l.Token() {
			t.Errorf("got %+v after the release", s)
		}
	})

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

	t.Run("CancelledBefore", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		l, err := c.Acquire(ctx, t.Name())
		if l != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, %v, want Canceled", l, err)
		}
		if s := mustGet(t, c, t.Name()); s.Held || s.Token != 0 {
			t.Errorf("got %+v, want nothing to have happened", s)
		}
	})

	t.Run("MaxWait", func(t *testing.T) {
		l := mustAcquire(t, c, t.Name())
		got, err := other.Acquire(testContext(t), t.Name(), holdfast.MaxWait(30*time.Millisecond))
		if got != nil || !errors.Is(err, holdfast.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, %v, want ErrTimeout alone", got, err)
		}
		mustRelease(t, l)
	})

	t.Run("NormalizedName", func(t *testing.T) {
		l := mustAcquire(t, c, "cafe\u0301/"+t.Name())
		if want := "caf\u00e9/" + t.Name(); l.Resource() != want {
			t.Errorf("got %q, want %q", l.Resource(), want)
		}
		_, err := other.TryAcquire(testContext(t), "caf\u00e9/"+t.Name())
		if !errors.Is(err, holdfast.ErrHeld) {
			t.Errorf("got %v, want ErrHeld", err)
		}
		mustRelease(t, l)
	})
}

func TestTryAcquire(t *testing.T) {
	c, other := newClient(t, url), newClient(t, url)
	resource := t.Name()
	l, err := c.TryAcquire(testContext(t), resource, holdfast.Owner("ann"),
		holdfast.Metadata(map[string]string{"task": "7"}))
	if err != nil {
		t.Fatal(err)
	}
	for _, asks := range []*holdfast.Client{other, c} {
		got, err := asks.TryAcquire(testContext(t), resource, holdfast.Owner("ann"))
		var e *holdfast.Error
		if got != nil || !errors.Is(err, holdfast.ErrHeld) || !errors.As(err, &e) {
			t.Fatalf("got %v, %v, want ErrHeld", got, err)
		}
		h := e.Holder
		if h == nil || h.Owner != "ann" || h.Token != l.Token() || h.Metadata["task"] != "7" ||
			h.Resource != resource ||
			h.TTL != holdfast.DefaultTTL || h.Remaining <= 0 || h.Remaining > h.TTL || h.AcquiredAt.IsZero() {
			t.Errorf("got %+v, want %v", h, l)
		}
		if e.Op != "acquire" || e.Resource != resource {
			t.Errorf("got %q of %q", e.Op, e.Resource)
		}
		want := fmt.Sprintf("holdfast: acquire %q: held (held by \"ann\", token %v)", resource, l.Token())
		if err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
	mustRelease(t, l)
}

// What breaks a rule is refused with the rule, before anything is sent.
func TestInvalid(t *testing.T) {
	p := proxy.New(t, url)
	c := newClient(t, p.URL())
	ctx := testContext(t)
	name := t.Name()
	acquire := func(resource string, opts ...holdfast.AcquireOption) func() error {
		return func() error {
			_, err := c.Acquire(ctx, resource, opts...)
			return err
		}
	}
	for _, tc := range []struct {
		name, says string
		call       func() error
	}{
		{"NoResource", "resource", acquire("")},
		{"LongResource", "512", acquire(strings.Repeat("x", 513))},
		{"ControlCharacter", "control", acquire("a\nb")},
		{"NotUTF8", "UTF-8", acquire("\xff")},
		{"ShortTTL", "TTL", acquire(name, holdfast.TTL(99*time.Millisecond))},
		{"LongTTL", "TTL", acquire(name, holdfast.TTL(24*time.Hour+time.Millisecond))},
		{"VeryLongTTL", "TTL", acquire(name, holdfast.TTL(1<<62))},
		{"NegativeTTL", "TTL", acquire(name, holdfast.TTL(-time.Hour))},
		{"NoOwner", "Owner", acquire(name, holdfast.Owner(""))},
		{"LongOwner", "Owner", acquire(name, holdfast.Owner(strings.Repeat("x", 257)))},
		{"NegativeWait", "MaxWait", acquire(name, holdfast.MaxWait(-1))},
		{"LongMetadata", "Metadata", acquire(name,
			holdfast.Metadata(map[string]string{"k": strings.Repeat("x", 1024)}))},
		{"TryAcquire", "resource", func() error { _, err := c.TryAcquire(ctx, ""); return err }},
		{"Do", "resource", func() error { return c.Do(ctx, "", noWork) }},
		{"Get", "resource", func() error { _, err := c.Get(ctx, ""); return err }},
		{"WaitFree", "resource", func() error { return c.WaitFree(ctx, "") }},
		{"GetStale", "resource", func() error { _, err := c.GetStale(ctx, ""); return err }},
		{"Break", "reason", func() error { return c.Break(ctx, name, 1, strings.Repeat("x", 513)) }},
		{"List", "pattern", func() error {
			for _, err := range c.List(ctx, "a b") {
				return err
			}
			return nil
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.call()
			var e *holdfast.Error // its cause can be ErrInvalid too, and is not enough
			if !errors.As(err, &e) || !errors.Is(e.Err, holdfast.ErrInvalid) ||
				!strings.Contains(err.Error(), tc.says) {
				t.Fatalf("got %v, want an Error with ErrInvalid and %q", err, tc.says)
			}
			if strings.Count(err.Error(), "invalid") > 1 {
				t.Errorf("%q says so twice", err)
			}
		})
	}
	for _, op := range []string{"acquire", "get", "break", "list"} {
		if n := p.Count(op); n > 0 {
			t.Errorf("%d requests to %s were sent", n, op)
		}
	}
}

func TestOptions(t *testing.T) {
	t.Run("Refused", func(t *testing.T) {
		nc := stand.Dial(t, url)
		for name, o := range map[string]holdfast.Option{
			"Prefix": holdfast.Prefix("a b"), "Timeout": holdfast.Timeout(0), "NegativeTimeout": holdfast.Timeout(-1),
		} {
			if c, err := holdfast.New(nc, o); c != nil || !errors.Is(err, holdfast.ErrInvalid) {
				t.Errorf("%s: got %v, want ErrInvalid", name, err)
			}
		}
	})

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
