package client_test

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/proxy"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// watching is a watch that is read step by step.
type watching struct {
	tb   testing.TB
	next func() (holdfast.Event, error, bool)
}

// watch begins a watch, and returns when it stands: what happens from then on it yields.
func watch(tb testing.TB, c *holdfast.Client, pattern string, opts ...holdfast.WatchOption) *watching {
	tb.Helper()
	w := pull(tb, c.Watch(tb.Context(), pattern, append(opts, holdfast.Bookmarks(time.Hour))...))
	w.want(holdfast.EventBookmark, "", 0)
	return w
}

func pull(tb testing.TB, events iter.Seq2[holdfast.Event, error]) *watching {
	tb.Helper()
	next, stop := iter.Pull2(events)
	tb.Cleanup(stop)
	return &watching{tb, next}
}

// event returns the next event.
func (w *watching) event() holdfast.Event {
	w.tb.Helper()
	e, err, ok := w.next()
	if err != nil || !ok {
		w.tb.Fatalf("no event: %v", err)
	}
	return e
}

// failure returns the error that the watch ends with, which is the last that it yields.
func (w *watching) failure() error {
	w.tb.Helper()
	e, err, ok := w.next()
	if err == nil || !ok {
		w.tb.Fatalf("got %v, wanted an error", e)
	}
	if _, _, more := w.next(); more {
		w.tb.Fatalf("it went on after %v", err)
	}
	return err
}

func (w *watching) want(kind holdfast.EventKind, resource string, token holdfast.Token) holdfast.Event {
	w.tb.Helper()
	e := w.event()
	if e.Kind != kind || e.Lease.Resource != resource || e.Lease.Token != token {
		w.tb.Fatalf("got %v, wanted %v of %q, token %v", e, kind, resource, token)
	}
	return e
}

// A watch whose context ends soon yields what there is until then, also if that is sooner than the heartbeats of a
// pull.
func TestWatchWithADeadline(t *testing.T) {
	t.Parallel()
	c := newService(t).Client()
	w := watch(t, c, "orders.42")
	mustRelease(t, mustAcquire(t, c, "orders.42"))
	from := w.want(holdfast.EventAcquired, "orders.42", 1).Position()
	stand.Eventually(t, "a watch of two seconds yields a change", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		for e, err := range c.Watch(ctx, "orders.42", holdfast.From(from)) {
			if err == nil && e.Kind == holdfast.EventReleased {
				return true
			}
		}
		return false
	})
}

func TestWatchTellsEveryChange(t *testing.T) {
	c := newService(t).Client(holdfast.Defaults(holdfast.NoRenewal()))
	w := watch(t, c, "orders.42")
	l := mustAcquire(t, c, "orders.42", holdfast.Owner("me"), holdfast.Metadata(map[string]string{"job": "nightly"}))
	e := w.want(holdfast.EventAcquired, "orders.42", 1)
	if e.Lease.Owner != "me" || e.Lease.TTL != holdfast.DefaultTTL || e.Lease.Metadata["job"] != "nightly" ||
		time.Since(e.Time).Abs() > time.Hour || e.ID.Position == 0 || e.Held() != 0 {
		t.Errorf("%+v", e)
	}
	stand.Must(t, l.Extend(t.Context(), time.Minute))
	if e := w.want(holdfast.EventExtended, "orders.42", 1); e.Lease.TTL != time.Minute || e.Lease.Remaining != time.Minute {
		t.Errorf("%+v", e)
	}
	mustAcquire(t, c, "people.7") // another resource, which may be in the same shard
	mustRelease(t, l)
	if e := w.want(holdfast.EventReleased, "orders.42", 1); e.Held() < 0 || e.Held() > time.Hour || !e.Kind.Ends() {
		t.Errorf("%+v", e)
	}
	mustAcquire(t, c, "orders.42", holdfast.TTL(2*time.Second))
	w.want(holdfast.EventAcquired, "orders.42", 2)
	if e := w.want(holdfast.EventExpired, "orders.42", 2); e.Held() < 2*time.Second {
		t.Errorf("held for %v", e.Held())
	}
	l = mustAcquire(t, c, "orders.42")
	w.want(holdfast.EventAcquired, "orders.42", 3)
	stand.Must(t, c.Break(t.Context(), "orders.42", l.Token(), "it hangs"))
	if e := w.want(holdfast.EventBroken, "orders.42", 3); e.Reason != "it hangs" {
		t.Errorf("%+v", e)
	}
}

func TestWatchPresent(t *testing.T) {
	c := newService(t).Client(holdfast.Defaults(holdfast.NoRenewal()))
	none := pull(t, c.Watch(t.Context(), ">", holdfast.Present()))
	none.want(holdfast.EventBookmark, "", 0)
	kept := mustAcquire(t, c, "orders.1", holdfast.Owner("me"))
	gone := mustAcquire(t, c, "orders.2")
	mustAcquire(t, c, "orders.3", holdfast.Ephemeral())
	mustAcquire(t, c, "people.1")
	mustRelease(t, gone)
	stand.Must(t, kept.Extend(t.Context(), time.Minute))
	w := pull(t, c.Watch(t.Context(), "orders.*", holdfast.Present()))
	e := w.want(holdfast.EventPresent, "orders.1", 1)
	if e.Lease.Owner != "me" || e.Lease.TTL != time.Minute || e.Lease.Remaining != 0 || !e.Position().IsZero() {
		t.Errorf("%+v", e)
	}
	begun := w.want(holdfast.EventBookmark, "", 0)
	if begun.Position().IsZero() {
		t.Error("the bookmark has no position")
	}
	mustRelease(t, kept)
	mustAcquire(t, c, "orders.1")
	w.want(holdfast.EventReleased, "orders.1", 1)
	w.want(holdfast.EventAcquired, "orders.1", 2)

	again := pull(t, c.Watch(t.Context(), "orders.*", holdfast.Present(), holdfast.From(begun.Position())))
	again.want(holdfast.EventReleased, "orders.1", 1)
	again.want(holdfast.EventAcquired, "orders.1", 2)
	afresh := pull(t, c.Watch(t.Context(), "orders.*", holdfast.Present(), holdfast.From(holdfast.Position{})))
	afresh.want(holdfast.EventPresent, "orders.1", 2)
	afresh.want(holdfast.EventBookmark, "", 0)
}

func TestWatchSince(t *testing.T) {
	c := newService(t).Client()
	mustAcquire(t, c, "orders.1")
	second := watch(t, c, "orders.2")
	mustAcquire(t, c, "orders.2")
	at := second.want(holdfast.EventAcquired, "orders.2", 1).Time
	all := pull(t, c.Watch(t.Context(), "orders.1", holdfast.Since(time.Time{})))
	all.want(holdfast.EventAcquired, "orders.1", 1)
	pull(t, c.Watch(t.Context(), "orders.2", holdfast.Since(at))).want(holdfast.EventAcquired, "orders.2", 1)
	later := watch(t, c, "orders.2", holdfast.Since(at.Add(time.Hour)))
	stand.Must(t, c.Break(t.Context(), "orders.2", 1, "enough"))
	later.want(holdfast.EventBroken, "orders.2", 1)
}

// A position moves on although nothing happens that the pattern selects.
func TestWatchBookmarks(t *testing.T) {
	c := newService(t).Client()
	w := pull(t, c.Watch(t.Context(), "orders.*", holdfast.Bookmarks(time.Millisecond)))
	first := w.want(holdfast.EventBookmark, "", 0).Position().String()
	mustAcquire(t, c, "people.1")
	if moved := w.want(holdfast.EventBookmark, "", 0).Position().String(); moved == first {
		t.Errorf("still %v", moved)
	}
	mustAcquire(t, c, "orders.1")
	for e := w.event(); e.Kind != holdfast.EventAcquired; e = w.event() {
		if e.Kind != holdfast.EventBookmark {
			t.Fatalf("got %v", e)
		}
	}
}

func TestWatchRefuses(t *testing.T) {
	c := newService(t).Client(holdfast.Timeout(time.Second))
	position := watch(t, c, "orders.1").position(t, c)
	for name, test := range map[string]struct {
		pattern string
		opts    []holdfast.WatchOption
	}{
		"Pattern":          {"a:b", nil},
		"Wildcard":         {"a.>.b", nil},
		"Bookmarks":        {">", []holdfast.WatchOption{holdfast.Bookmarks(0)}},
		"Kinds":            {">", []holdfast.WatchOption{holdfast.Kinds(holdfast.EventPresent)}},
		"PresentAndSince":  {">", []holdfast.WatchOption{holdfast.Present(), holdfast.Since(time.Now())}},
		"OtherShards":      {">", []holdfast.WatchOption{holdfast.From(position)}},
		"OtherDeployment":  {">", []holdfast.WatchOption{holdfast.From(mustPosition(t, "0:1,1:1,2:1,3:99999"))}},
		"MissingInBetween": {">", []holdfast.WatchOption{holdfast.From(mustPosition(t, "0:1,1:1,3:1"))}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := pull(t, c.Watch(t.Context(), test.pattern, test.opts...)).failure(); !errors.Is(err, holdfast.ErrInvalid) {
				t.Error(err)
			}
		})
	}
}

// position makes something happen to one resource and returns the position behind it.
func (w *watching) position(t *testing.T, c *holdfast.Client) holdfast.Position {
	t.Helper()
	mustAcquire(t, c, "orders.1")
	return w.event().Position()
}

func mustPosition(t *testing.T, s string) holdfast.Position {
	t.Helper()
	return stand.Value(holdfast.ParsePosition(s))(t)
}

func TestWatchEnds(t *testing.T) {
	s := newService(t)
	t.Run("Cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := pull(t, s.Client().Watch(ctx, ">", holdfast.Present()))
		w.want(holdfast.EventBookmark, "", 0)
		cancel()
		if err := w.failure(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	t.Run("Deadline", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := pull(t, s.Client().Watch(ctx, ">")).failure(); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
	t.Run("Closed", func(t *testing.T) {
		c := s.Client()
		w := watch(t, c, ">")
		stand.Must(t, c.Close(t.Context()))
		if err := w.failure(); !errors.Is(err, holdfast.ErrClosed) || errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := pull(t, c.Watch(t.Context(), ">")).failure(); !errors.Is(err, holdfast.ErrClosed) {
			t.Error(err)
		}
	})
	t.Run("ConnectionClosed", func(t *testing.T) {
		nc := s.Connect()
		w := watch(t, stand.Client(t, nc), ">")
		nc.Close()
		if err := w.failure(); !errors.Is(err, holdfast.ErrUnavailable) {
			t.Error(err)
		}
	})
	t.Run("NobodyThere", func(t *testing.T) {
		c := s.Client(holdfast.Prefix("other"), holdfast.Timeout(100*time.Millisecond))
		if err := pull(t, c.Watch(t.Context(), ">")).failure(); !errors.Is(err, holdfast.ErrUnavailable) {
			t.Error(err)
		}
	})
}

// However a loop ends, nothing of it goes on.
// A cluster that has just elected a leader may say that a stream is not there which is.
func TestWatchOutlivesNotFound(t *testing.T) {
	p := proxy.New(t, url)
	c, other := newClient(t, p.URL()), newClient(t, url)
	p.OnAnswers("API", proxy.First(3, proxy.Miss))
	w := watch(t, c, t.Name())
	p.Cut()
	p.OnAnswers("API", proxy.First(3, proxy.Miss))
	mustRelease(t, mustAcquire(t, other, t.Name()))
	w.want(holdfast.EventAcquired, t.Name(), 1)
	w.want(holdfast.EventReleased, t.Name(), 1)
}

func TestWatchLeavesNothingBehind(t *testing.T) {
	c := newService(t).Client()
	mustAcquire(t, c, "orders.1", holdfast.NoRenewal())
	for range 10 {
		for e, err := range c.Watch(t.Context(), ">", holdfast.Present(), holdfast.Bookmarks(time.Hour)) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == holdfast.EventBookmark {
				break
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		for e, err := range c.Watch(ctx, ">", holdfast.Since(time.Time{})) {
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if e.Kind == holdfast.EventAcquired {
				cancel()
			}
		}
		cancel()
	}
	if stacks := stacks(); strings.Contains(stacks, "holdfast.(*follower)") {
		t.Errorf("a follower goes on:\n%s", stacks)
	}
	stand.Eventually(t, "no pull goes on", func() bool {
		return !strings.Contains(stacks(), "jetstream.(*pullConsumer)")
	})
}

func stacks() string {
	all := make([]byte, 4<<20)
	return string(all[:runtime.Stack(all, true)])
}
