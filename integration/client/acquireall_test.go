package client_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// named returns names that belong to the test.
func named(tb testing.TB, names ...string) []string {
	tb.Helper()
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = tb.Name() + "/" + name
	}
	return all
}

func mustAcquireAll(tb testing.TB, c *holdfast.Client, resources []string,
	opts ...holdfast.AcquireOption) *holdfast.Locks {
	tb.Helper()
	return stand.Value(c.AcquireAll(testContext(tb), resources, opts...))(tb)
}

// outcomeOfAll is what an AcquireAll has come to.
type outcomeOfAll struct {
	locks *holdfast.Locks
	err   error
}

// acquiringAll begins to acquire and returns where the outcome comes.
func acquiringAll(ctx context.Context, c *holdfast.Client, resources []string,
	opts ...holdfast.AcquireOption) <-chan outcomeOfAll {
	done := make(chan outcomeOfAll, 1)
	go func() {
		s, err := c.AcquireAll(ctx, resources, opts...)
		done <- outcomeOfAll{s, err}
	}()
	return done
}

// wantAllFree fails the test unless all of them are free and nothing waits for them.
func wantAllFree(tb testing.TB, c *holdfast.Client, resources ...string) {
	tb.Helper()
	for _, name := range resources {
		if s := mustGet(tb, c, name); s.Held || s.Waiting > 0 {
			tb.Errorf("%s is held: %+v", name, s)
		}
	}
}

// A set is acquired in the order of the keys, each name once, and has a claim for each.
func TestAcquireAll(t *testing.T) {
	c, other := newClient(t, url), newClient(t, url)
	names := named(t, "b", "caf\u00e9", "a", "cafe\u0301", "b")
	want := named(t, "a", "b", "caf\u00e9")
	under := context.WithValue(testContext(t), key{}, "value")
	s := stand.Value(c.AcquireAll(under, names, long))(t)
	claims := s.Claims()
	for i, name := range want {
		held := mustGet(t, other, name)
		claim, ok := s.Claim(name)
		if !held.Held || claims[i].Resource != name || claims[i].Token != held.Token || !ok || claim != claims[i] ||
			s.All()[i].Claim() != claim {
			t.Errorf("%s: the claims are %v and %v, the service says %+v", name, claims[i], claim, held)
		}
	}
	if claim, ok := s.Claim(names[3]); !ok || claim != claims[2] {
		t.Errorf("the other spelling has the claim %v, %v", claim, ok)
	}
	if claim, ok := s.Claim("other"); ok {
		t.Errorf("a resource that is not among them has the claim %v", claim)
	}
	_, carries := holdfast.TokenFromContext(s.Context())
	if len(claims) != 3 || carries || s.Context().Value(key{}) != "value" || s.Context().Err() != nil || !s.Valid() {
		t.Errorf("got %v, valid %v, a token in the context: %v", s, s.Valid(), carries)
	}
	if first := s.Deadline(); slices.ContainsFunc(s.All(),
		func(l *holdfast.Lock) bool { return l.Deadline().Before(first) }) {
		t.Errorf("the first ends at %v, before that others", first)
	}
	if err := s.Extend(testContext(t), 2*time.Hour); err != nil {
		t.Error(err)
	}
	for _, name := range want {
		if ttl := mustGet(t, other, name).TTL; ttl != 2*time.Hour {
			t.Errorf("%s is extended to %v", name, ttl)
		}
	}
	if err := errors.Join(s.Release(testContext(t)), s.Release(testContext(t))); err != nil {
		t.Error(err)
	}
	wantAllFree(t, other, want...)
	select {
	case <-s.Lost():
		t.Error("a set that was released is called lost")
	default:
	}
	if cause := context.Cause(s.Context()); !errors.Is(cause, holdfast.ErrReleased) || s.Valid() {
		t.Errorf("valid %v, the context has ended with %v", s.Valid(), cause)
	}
}

// Clients that name the same resources in any order make progress, and exclude one another.
func TestAcquireAllDoesNotDeadlock(t *testing.T) {
	const workers, turns = 12, 10
	names := named(t, "a", "b", "c", "d", "e", "f")
	clients := []*holdfast.Client{newClient(t, url), newClient(t, url), newClient(t, url)}
	holders := make([]atomic.Int32, len(names))
	var group sync.WaitGroup
	for i, dice := range stand.Dice(t, workers) {
		group.Go(func() {
			for range turns {
				mine := dice.Perm(len(names))[:2+dice.IntN(4)]
				resources := make([]string, len(mine))
				for i, n := range mine {
					resources[i] = names[n]
				}
				err := clients[i%len(clients)].DoAll(testContext(t), resources,
					func(context.Context, *holdfast.Locks) error {
						for _, n := range mine {
							if holders[n].Add(1) != 1 {
								t.Errorf("%s has two holders", names[n])
							}
						}
						for _, n := range mine {
							holders[n].Add(-1)
						}
						return nil
					}, long)
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	wantAllFree(t, clients[0], names...)
}

// While one of them is held by another, those before it are held, and those behind it are not.
func TestAcquireAllInTurn(t *testing.T) {
	t.Parallel()
	c, other := newClient(t, url), newClient(t, url)
	names := named(t, "a", "b", "c")
	held := mustAcquire(t, other, names[1])
	done := acquiringAll(testContext(t), c, names, long)
	untilWaiting(t, other, names[1], 1)
	if a := mustGet(t, other, names[0]); !a.Held {
		t.Errorf("the first is not held: %+v", a)
	}
	wantAllFree(t, other, names[2])
	mustRelease(t, held)
	o := <-done
	if o.err != nil || !o.locks.Valid() || len(o.locks.Claims()) != 3 {
		t.Fatalf("got %v, %v", o.locks, o.err)
	}
	if err := o.locks.Release(testContext(t)); err != nil {
		t.Error(err)
	}
}

// A set that is not complete leaves nothing behind, whatever the reason, and the error names it.
func TestAcquireAllOrNone(t *testing.T) {
	c, other := newClient(t, url), newClient(t, url)
	wantRefused := func(t *testing.T, o outcomeOfAll, resource string, want ...error) {
		t.Helper()
		var e *holdfast.Error
		if o.locks != nil || !errors.As(o.err, &e) || e.Resource != resource {
			t.Errorf("got %v, %v, want an error about %s", o.locks, o.err, resource)
		}
		for _, want := range want {
			if !errors.Is(o.err, want) {
				t.Errorf("got %v, want %v", o.err, want)
			}
		}
	}
	for name, test := range map[string]struct {
		opts []holdfast.AcquireOption
		stop func(ctx context.Context, cancel func(), first holdfast.Token, names []string) error
		at   int
		want []error
	}{
		"Try": {opts: []holdfast.AcquireOption{holdfast.MaxWait(0)}, at: 1, want: []error{holdfast.ErrHeld}},
		"MaxWait": {opts: []holdfast.AcquireOption{holdfast.MaxWait(50 * time.Millisecond)}, at: 1,
			want: []error{holdfast.ErrTimeout}},
		"Cancelled": {at: 1, want: []error{context.Canceled},
			stop: func(_ context.Context, cancel func(), _ holdfast.Token, _ []string) error {
				cancel()
				return nil
			}},
		"Lost": {at: 0, want: []error{holdfast.ErrLost},
			stop: func(ctx context.Context, _ func(), first holdfast.Token, names []string) error {
				return other.Break(ctx, names[0], first, "test")
			}},
	} {
		t.Run(name, func(t *testing.T) {
			names := named(t, "a", "b", "c")
			held := mustAcquire(t, other, names[1])
			ctx, cancel := context.WithCancel(testContext(t))
			defer cancel()
			done := acquiringAll(ctx, c, names, append(test.opts, long)...)
			if test.stop != nil {
				untilWaiting(t, other, names[1], 1)
				stand.Must(t, test.stop(ctx, cancel, mustGet(t, other, names[0]).Token, names))
			}
			wantRefused(t, <-done, names[test.at], test.want...)
			untilFree(t, other, names[0])
			untilFree(t, other, names[2])
			mustRelease(t, held)
			untilFree(t, other, names[1])
		})
	}

	t.Run("Deadline", func(t *testing.T) {
		names := named(t, "a", "b", "c")
		held := mustAcquire(t, other, names[1])
		ctx, cancel := context.WithTimeout(testContext(t), 50*time.Millisecond)
		defer cancel()
		wantRefused(t, <-acquiringAll(ctx, c, names, long), names[1], holdfast.ErrTimeout, context.DeadlineExceeded)
		untilFree(t, other, names[0])
		mustRelease(t, held)
		untilFree(t, other, names[1])
	})
}

// The service may refuse one of them for good: of all that are asked for at once, or of those that are taken in turn.
func TestAcquireAllRefused(t *testing.T) {
	t.Parallel()
	s := stand.Start(t, stand.Config{Shards: 1, Capacity: node.Capacity{Held: 3}, Tuning: actors.Tuning{MaxWaiting: 1}})
	c, other := newClient(t, s.Server.ClientURL()), newClient(t, s.Server.ClientURL())
	full := mustAcquireAll(t, other, []string{"x", "y", "z"}, long)
	if locks, err := c.AcquireAll(testContext(t), []string{"a", "b", "c", "d"}, long); !errors.Is(err, holdfast.ErrOverloaded) {
		t.Errorf("got %v, %v, want ErrOverloaded", locks, err)
	}
	wantAllFree(t, other, "a", "b", "c", "d")
	stand.Must(t, full.Release(testContext(t)))
	held := mustAcquire(t, other, "b")
	waiting := acquiring(testContext(t), other, "b")
	untilWaiting(t, other, "b", 1)
	if locks, err := c.AcquireAll(testContext(t), []string{"a", "b"}, long); !errors.Is(err, holdfast.ErrOverloaded) {
		t.Errorf("got %v, %v, want ErrOverloaded", locks, err)
	}
	wantAllFree(t, other, "a")
	mustRelease(t, held)
	mustRelease(t, mustGrant(t, waiting))
}

// A call that is cancelled at any moment leaves nothing behind.
func TestCancelRacesAcquireAll(t *testing.T) {
	const workers, turns = 6, 40
	names := named(t, "a", "b", "c", "d")
	clients := []*holdfast.Client{newClient(t, url), newClient(t, url)}
	var granted, cancelled atomic.Int64
	var group sync.WaitGroup
	for i, dice := range stand.Dice(t, workers) {
		group.Go(func() {
			for turn := 0; turn < turns || granted.Load() == 0 && turn < 10*turns; turn++ {
				ctx, cancel := context.WithCancel(t.Context())
				// A busy machine may need more time until one is granted.
				timer := time.AfterFunc(within(dice, time.Millisecond<<dice.IntN(9+turn/turns)), cancel)
				s, err := clients[i%len(clients)].AcquireAll(ctx, names, long)
				switch {
				case err == nil:
					granted.Add(1)
					if err := s.Release(testContext(t)); err != nil {
						t.Error(err)
					}
				case errors.Is(err, context.Canceled):
					cancelled.Add(1)
				default:
					t.Error(err)
				}
				timer.Stop()
				cancel()
			}
		})
	}
	group.Wait()
	t.Logf("%d granted, %d cancelled", granted.Load(), cancelled.Load())
	if granted.Load() == 0 || cancelled.Load() == 0 {
		t.Error("there was no race")
	}
	for _, name := range names {
		untilFree(t, clients[0], name)
	}
}

// The loss of one is the loss of all: the context ends. The others are kept until the work has stopped.
func TestLossOfOneOfAll(t *testing.T) {
	t.Parallel()
	c, other := newClient(t, url), newClient(t, url)
	lose := func(t *testing.T, l *holdfast.Lock) {
		t.Helper()
		stand.Must(t, other.Break(testContext(t), l.Resource(), l.Token(), "test"))
	}

	t.Run("Released", func(t *testing.T) {
		t.Parallel()
		names := named(t, "a", "b", "c")
		s := mustAcquireAll(t, c, names, long)
		lose(t, s.All()[1])
		await(t, "the set is lost", s.Lost())
		await(t, "the context ends", s.Context().Done())
		if cause := context.Cause(s.Context()); !errors.Is(cause, holdfast.ErrLost) || s.Valid() {
			t.Errorf("valid %v, the context has ended with %v", s.Valid(), cause)
		}
		wantHolders(t, other, names[0], s.All()[0])
		wantHolders(t, other, names[2], s.All()[2])
		if err := s.Release(testContext(t)); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("got %v, want ErrLost", err)
		}
		wantAllFree(t, other, names...)
	})

	// Otherwise they are released when they would have run out.
	t.Run("Abandoned", func(t *testing.T) {
		t.Parallel()
		names := named(t, "a", "b", "c")
		s := mustAcquireAll(t, c, names, holdfast.TTL(2*time.Second))
		lose(t, s.All()[1])
		await(t, "the set is lost", s.Lost())
		for _, name := range names {
			untilFree(t, other, name)
		}
		if err := s.Release(testContext(t)); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("got %v, want ErrLost", err)
		}
	})

	t.Run("DoAll", func(t *testing.T) {
		t.Parallel()
		names := named(t, "a", "b", "c")
		mine := errors.New("stopped")
		err := c.DoAll(testContext(t), names, func(ctx context.Context, s *holdfast.Locks) error {
			lose(t, s.All()[2])
			<-ctx.Done()
			if cause := context.Cause(ctx); !errors.Is(cause, holdfast.ErrLost) {
				t.Errorf("got %v, want ErrLost", cause)
			}
			return mine
		}, long)
		if !errors.Is(err, mine) || !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("got %v, want %v and ErrLost", err, mine)
		}
		wantAllFree(t, other, names...)
	})

	t.Run("Closed", func(t *testing.T) {
		t.Parallel()
		names := named(t, "a", "b")
		c := newClient(t, url)
		s := mustAcquireAll(t, c, names, long)
		lose(t, s.All()[0])
		await(t, "the set is lost", s.Lost())
		if err := c.Close(testContext(t)); err != nil {
			t.Error(err)
		}
		wantAllFree(t, other, names...)
	})
}

// Locks that are released one by one are not held as a whole any more.
func TestOneOfAllReleased(t *testing.T) {
	c := newClient(t, url)
	s := mustAcquireAll(t, c, named(t, "a", "b"), long)
	mustRelease(t, s.All()[0])
	if cause := context.Cause(s.Context()); !errors.Is(cause, holdfast.ErrReleased) || s.Valid() ||
		!s.All()[1].Valid() {
		t.Errorf("valid %v, the context has ended with %v", s.Valid(), cause)
	}
	if err := s.Release(testContext(t)); err != nil {
		t.Error(err)
	}
	wantAllFree(t, c, named(t, "a", "b")...)
}
