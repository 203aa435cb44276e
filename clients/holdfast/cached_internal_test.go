package holdfast

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/clients/holdfast/internal/block"
	"github.com/holdfast-io/holdfast/messages"
)

// newCaching returns a service that has what cached leases need.
func newCaching(t *testing.T) *scripted {
	t.Helper()
	s := newScripted(t)
	s.features = append(s.features, messages.FeatureTokens, messages.FeatureNotices)
	return s
}

// wantUse acquires a resource without waiting, and checks the token.
func wantUse(t *testing.T, c *Client, token Token) *Lock {
	t.Helper()
	l, err := c.TryAcquire(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	if l.Token() != token || l.Claim() != (Claim{Resource: "r", Token: token}) || !l.Valid() {
		t.Errorf("%v, valid: %v, want token %v", l, l.Valid(), token)
	}
	if claim, _ := ClaimFromContext(l.Context()); claim.Token != token {
		t.Errorf("the context has token %v, want %v", claim.Token, token)
	}
	return l
}

func mustRelease(t *testing.T, l *Lock) {
	t.Helper()
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Uses of a cached lease need no request. The renewals of an unused one go on, until it was not used for its idle time.
func TestCachedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCaching(t)
		c := s.client(Defaults(Cached(time.Minute)))
		first := wantUse(t, c, 1)
		mustRelease(t, first)
		wait(time.Second)
		for i := range 5 {
			mustRelease(t, wantUse(t, c, Token(2+i)))
		}
		if first.Valid() || context.Cause(first.Context()) != ErrReleased { //nolint:errorlint // it is the sentinel itself
			t.Errorf("the first use is valid: %v, its context: %v", first.Valid(), context.Cause(first.Context()))
		}
		if n := s.count(messages.OpAcquire) + s.count(messages.OpRelease); n != 1 {
			t.Errorf("%d requests to acquire and release, want 1", n)
		}
		if got := c.CacheStats(); got != (CacheStats{Leases: 1, Uses: 6}) {
			t.Errorf("%+v", got)
		}
		wait(50 * time.Second)
		if !s.holds("r", 1) || s.count(messages.OpKeep) == 0 {
			t.Error("the unused lease is not renewed")
		}
		mustRelease(t, wantUse(t, c, 7))
		wait(50 * time.Second)
		if !s.holds("r", 1) {
			t.Error("the lease was returned before its idle time was over")
		}
		wait(20 * time.Second)
		if s.holds("r", 1) || c.CacheStats().Leases != 0 {
			t.Error("the lease was not returned after its idle time")
		}
		wantUse(t, c, Token(1+block.First))
	})
}

// A use gets a token when an answer has shown it. Until then calls wait, also one that waits for no other holder, and
// none is refused.
func TestGrowthOfABlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCaching(t)
		s.script(func(op messages.Operation) (there, back time.Duration) {
			if op == messages.OpExtend {
				return 100 * time.Millisecond, 100 * time.Millisecond
			}
			return 0, 0
		})
		c := s.client(Defaults(Cached(time.Minute)))
		for i := range 1000 {
			l := wantUse(t, c, Token(1+i))
			if !s.has("r", l.Token()) {
				t.Fatalf("the service has not granted %v", l)
			}
			mustRelease(t, l)
		}
		if n := s.count(messages.OpAcquire); n != 1 {
			t.Errorf("%d requests to acquire, want 1", n)
		}
		if n := s.count(messages.OpExtend); n > 10 {
			t.Errorf("%d extensions for a thousand uses", n)
		}
	})
}

// A block that does not grow is used to its end. Then the lease is returned, and the next one has the next tokens.
func TestBlockThatCannotGrow(t *testing.T) {
	for _, refusal := range []messages.Status{messages.Status_EXHAUSTED, messages.Status_OVERLOADED,
		messages.Status_INVALID} {
		t.Run(refusal.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newCaching(t)
				s.refuse = func(_ string, r *messages.ExtendRequest) messages.Status {
					if r.GetTokens() > 0 {
						return refusal
					}
					return 0
				}
				c := s.client(Defaults(Cached(time.Hour), TTL(time.Minute)))
				for i := range 3 * block.First {
					mustRelease(t, wantUse(t, c, Token(1+i)))
					wait(10 * time.Second)
				}
				if n := s.count(messages.OpAcquire); n != 3 {
					t.Errorf("%d requests to acquire, want 3", n)
				}
			})
		})
	}
}

// No use begins when less than a quarter of the lease is left, as far as the client knows; then it asks the service.
func TestUncertainLease(t *testing.T) {
	for _, tc := range []struct {
		passes time.Duration
		asks   bool
	}{{21 * time.Second, false}, {22 * time.Second, true}} {
		synctest.Test(t, func(t *testing.T) {
			s := newCaching(t)
			c := s.client(Defaults(Cached(time.Hour)), Timeout(time.Second))
			mustRelease(t, mustLock(t, c, "r"))
			s.script(func(messages.Operation) (there, back time.Duration) { return lostOnTheWay, 0 })
			wait(tc.passes - time.Since(s.leaseOf("r").begun))
			l, err := c.TryAcquire(t.Context(), "r")
			if asks := errors.Is(err, ErrUnknown); asks != tc.asks || !asks && !l.Valid() {
				t.Errorf("after %v: %v, %v", tc.passes, l, err)
			}
		})
	}
}

// Another client gets a cached lease when it waits for it, and when it only tries again: at once with notices, else with
// the next keep or the next extension.
func TestLeaseThatIsWanted(t *testing.T) {
	for name, tc := range map[string]struct {
		opts []Option
		lost messages.Operation
		soon bool
	}{
		"Notice":   {soon: true},
		"Keep":     {lost: opNotice},
		"Extended": {opts: []Option{PerLockRenewal()}},
	} {
		for _, waits := range []bool{true, false} {
			t.Run(fmt.Sprint(name, "/waits=", waits), func(t *testing.T) {
				if name == "Extended" && !waits {
					t.Skip("the answer to an extension does not show what was refused")
				}
				synctest.Test(t, func(t *testing.T) {
					s := newCaching(t)
					s.script(func(op messages.Operation) (there, back time.Duration) {
						if op == tc.lost {
							return lostOnTheWay, 0
						}
						return 0, 0
					})
					c := s.client(append(tc.opts, Defaults(Cached(time.Hour)))...)
					mustRelease(t, mustLock(t, c, "r"))
					wait(5 * time.Second)
					other, begun := s.client(), time.Now()
					var err error
					if waits {
						_, err = other.Acquire(t.Context(), "r")
					} else {
						for _, err = other.TryAcquire(t.Context(), "r"); errors.Is(err, ErrHeld); {
							wait(100 * time.Millisecond)
							_, err = other.TryAcquire(t.Context(), "r")
						}
					}
					if err != nil {
						t.Fatal(err)
					}
					if took := time.Since(begun); tc.soon && took > 200*time.Millisecond || took > DefaultTTL {
						t.Errorf("it took %v", took)
					}
				})
			})
		}
	}
}

// A lease that others want is returned at the end of the use. What waited here asks by itself, in order, and so behind
// them.
func TestReturnAfterAUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCaching(t)
		c, other := s.client(Defaults(Cached(time.Hour))), s.client()
		l := mustLock(t, c, "r")
		wait(time.Second)
		var mu sync.Mutex
		var order []string
		acquire := func(c *Client, name string) {
			go func() {
				l, err := c.Acquire(t.Context(), "r")
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				wait(time.Second)
				_ = l.Release(t.Context())
			}()
			synctest.Wait()
		}
		for i := range 3 {
			acquire(c, fmt.Sprint(i))
		}
		if got := c.CacheStats().Waiting; got != 3 {
			t.Errorf("%d calls wait, want 3", got)
		}
		wanted := l.Wanted()
		acquire(other, "other")
		<-wanted
		acquire(c, "3")
		if !l.Valid() {
			t.Error("the use has ended")
		}
		if _, err := c.TryAcquire(t.Context(), "r"); !errors.Is(err, ErrHeld) {
			t.Errorf("a call that does not wait: %v, want ErrHeld", err)
		}
		mustRelease(t, l)
		wait(time.Minute)
		if got, want := fmt.Sprint(order), "[other 0 1 2 3]"; got != want {
			t.Errorf("the order is %s, want %s", got, want)
		}
	})
}

// A resource that others want again within its idle time is not cached for a while, which doubles; what this client
// wants itself does not count.
func TestContendedResource(t *testing.T) {
	const idle = time.Minute
	synctest.Test(t, func(t *testing.T) {
		s := newCaching(t)
		c, other := s.client(Defaults(Cached(idle))), s.client()
		cached := func() bool {
			mustRelease(t, mustLock(t, c, "r"))
			wait(10 * time.Millisecond)
			return c.CacheStats().Leases == 1
		}
		want := func() { mustRelease(t, mustLock(t, other, "r")) }
		for range 3 {
			if !cached() {
				t.Fatal("the resource is not cached after another call of this client wanted it")
			}
			mustRelease(t, mustLock(t, c, "r", Cached(0)))
		}
		if !cached() {
			t.Fatal("the resource is not cached")
		}
		want()
		for i, rest := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			if !cached() && i == 0 {
				t.Fatal("the resource is not cached after it was wanted once")
			}
			want()
			if cached() {
				t.Error("the resource is cached after it was wanted twice")
			}
			wait(rest - 20*time.Millisecond)
			if cached() {
				t.Errorf("the resource is cached before %v are over", rest)
			}
			wait(10 * time.Millisecond)
			if !cached() {
				t.Errorf("the resource is not cached after %v", rest)
			}
		}
		wait(idle + 2*idle/sweepParts)
		if !cached() {
			t.Error("the resource is not cached after a quiet time")
		}
		want()
		if !cached() {
			t.Error("the resource is not cached after it was wanted once more")
		}
	})
}

// A notice that does not name the lease says nothing. One that says that it has ended has the service asked.
func TestForgedNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCaching(t)
		c := s.client(Defaults(Cached(time.Hour)))
		l := mustLock(t, c, "r")
		wanted := l.Wanted()
		for _, n := range []*messages.Notice{{Resource: "r", Token: 2}, {Resource: "s", Token: 1}, {Token: 1},
			{Resource: "r"}} {
			c.handles.noticed(n)
		}
		s.server.deliver(c.sender.Listens(), []byte("no notice"))
		s.server.deliver(c.sender.Listens(), nil)
		wait(time.Second)
		s.count(messages.OpGet)
		for range 100 {
			c.handles.noticed(&messages.Notice{Resource: "r", Token: 1, Ended: true})
		}
		wait(time.Second)
		select {
		case <-wanted:
			t.Error("a forged notice is believed")
		case <-l.Lost():
			t.Error("a notice ends the lease")
		default:
		}
		if n := s.count(messages.OpGet); n < 1 || n > 4 {
			t.Errorf("%d questions after a hundred notices", n)
		}
		mustRelease(t, l)
		wantUse(t, c, 2)
	})
}

// A break is known with its notice. The use and the lease end together.
func TestBreakOfACachedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCaching(t)
		c := s.client(Defaults(Cached(time.Hour)))
		mustRelease(t, mustLock(t, c, "r"))
		l := mustLock(t, c, "r")
		wait(time.Second)
		s.breakLease("r")
		wait(time.Second)
		if err := l.Release(t.Context()); !errors.Is(err, ErrLost) {
			t.Errorf("the use is released with %v, want ErrLost", err)
		}
		if err := l.Release(t.Context()); !errors.Is(err, ErrLost) {
			t.Errorf("the second release returns %v, want what the first did", err)
		}
		if got := c.CacheStats(); got.Leases != 0 {
			t.Errorf("%+v after the loss", got)
		}
		wantUse(t, c, Token(1+block.First))
	})
}

// The release is sent again until it is answered, and no use begins after its first sending.
func TestReturnThatIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCaching(t)
		c := s.client(Defaults(Cached(time.Hour)))
		mustRelease(t, mustLock(t, c, "r"))
		wait(time.Second)
		var sent atomic.Int64
		s.script(func(op messages.Operation) (there, back time.Duration) {
			if op == messages.OpRelease && sent.Add(1) <= 3 {
				return lostOnTheWay, 0
			}
			return 0, 0
		})
		c.handles.noticed(&messages.Notice{Resource: "r", Token: 1})
		if _, err := c.TryAcquire(t.Context(), "r"); !errors.Is(err, ErrHeld) || !s.holds("r", 1) {
			t.Errorf("a call after the release was sent: %v, want what the service says", err)
		}
		wait(10 * time.Second)
		if n := sent.Load(); n != 4 || s.holds("r", 1) {
			t.Errorf("after %d releases the lease is held: %v", n, s.holds("r", 1))
		}
		if got := c.CacheStats(); got.Leases != 0 {
			t.Errorf("%+v after the return", got)
		}
	})
}

// The return of a lease needs no place where work is queued: there, whoever waits for the lease could be waited for.
func TestReturnNeedsNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCaching(t)
		c := s.client(Defaults(Cached(time.Hour)))
		mustRelease(t, mustLock(t, c, "r"))
		wait(time.Second)
		for range maxJobs + maxWorkers {
			c.background.add(job{until: time.Now().Add(365 * 24 * time.Hour), do: func(ctx context.Context) bool {
				<-ctx.Done()
				return false
			}})
		}
		begun := time.Now()
		mustLock(t, s.client(), "r")
		if took := time.Since(begun); took > time.Second {
			t.Errorf("another client waited for %v", took)
		}
	})
}

// What another process of the owner makes of the lease counts as soon as it is known: a lease that runs out within a
// quarter of its TTL is not used.
func TestLeaseThatIsShortened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCaching(t)
		c := s.client(PerLockRenewal(), Defaults(Cached(time.Hour)), Timeout(100*time.Millisecond))
		mustRelease(t, mustLock(t, c, "r"))
		wait(5 * time.Second)
		mustRelease(t, wantUse(t, c, 2))
		s.shorten("r", 8*time.Second)
		for s.count(messages.OpExtend) == 0 {
			wait(time.Second)
		}
		s.script(func(messages.Operation) (there, back time.Duration) { return lostOnTheWay, 0 })
		wait(100 * time.Millisecond)
		if l, err := c.TryAcquire(t.Context(), "r"); err == nil {
			t.Errorf("%v is a use of a lease that may have ended soon", l)
		}
	})
}

// Closing a client returns its cached leases, used or not, and ends the calls that wait for them.
func TestCloseReturnsCachedLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCaching(t)
		c := s.client(Defaults(Cached(time.Hour)))
		for _, l := range mustLocks(t, c, 10)[:5] {
			mustRelease(t, l)
		}
		waiting := make(chan error, 1)
		go func() {
			_, err := c.Acquire(t.Context(), "r9")
			waiting <- err
		}()
		synctest.Wait()
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-waiting; !errors.Is(err, ErrClosed) {
			t.Errorf("the call that waited returns %v, want ErrClosed", err)
		}
		for i := range 10 {
			if s.holds(fmt.Sprint("r", i), 1) {
				t.Errorf("r%d is held", i)
			}
		}
		if got := c.CacheStats(); got.Leases != 0 || got.Waiting != 0 {
			t.Errorf("%+v after the end", got)
		}
	})
}

// If the call that asks for the lease fails, the next one asks, and none is left behind.
func TestFirstCallFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCaching(t)
		c, other := s.client(Defaults(Cached(time.Hour))), s.client()
		held := mustLock(t, other, "r")
		errs := make(chan error, 3)
		for _, bound := range []time.Duration{time.Second, 2 * time.Second, time.Hour} {
			go func() {
				_, err := c.Acquire(t.Context(), "r", MaxWait(bound))
				errs <- err
			}()
			synctest.Wait()
		}
		for range 2 {
			if err := <-errs; !errors.Is(err, ErrTimeout) {
				t.Errorf("a call returns %v, want ErrTimeout", err)
			}
		}
		mustRelease(t, held)
		if err := <-errs; err != nil {
			t.Error(err)
		}
		if got := c.CacheStats(); got != (CacheStats{Leases: 1, Uses: 1}) {
			t.Errorf("%+v", got)
		}
	})
}

// What is in conflict with a cached lease is refused, with both options, unless only the client's defaults cache.
func TestCachedBesideOtherOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCaching(t)
		s.features = append(s.features, messages.FeatureMinHold, messages.FeatureDelay, messages.FeatureSharing)
		all := []AcquireOption{Shared(), Permits(1, 2), Reentrant(), Delay(time.Second), ConfirmLoss(),
			MinHold(time.Second), MaxHold(time.Minute), NoRenewal()}
		c := s.client(Defaults(Cached(time.Hour)))
		for i, other := range all {
			name := fmt.Sprint("r", i)
			_, err := c.Acquire(t.Context(), name, Cached(time.Minute), other)
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("option %d: %v, want ErrInvalid", i, err)
			}
			if i >= 2 { // the service of the test has no shared leases
				mustLock(t, c, name, other)
			}
		}
		if got := c.CacheStats(); got.Uses != 0 {
			t.Errorf("%+v without a cached lock", got)
		}
		if _, err := c.AcquireAll(t.Context(), []string{"a", "b"}, Cached(time.Minute)); !errors.Is(err, ErrInvalid) {
			t.Errorf("AcquireAll: %v, want ErrInvalid", err)
		}
		if _, err := c.Campaign(t.Context(), "e", "me", Cached(time.Minute)); !errors.Is(err, ErrInvalid) {
			t.Errorf("Campaign: %v, want ErrInvalid", err)
		}
		l := mustLock(t, c, "r")
		for what, err := range map[string]error{
			"Set": l.Set(t.Context(), nil), "Extend": l.Extend(t.Context(), time.Minute),
			"Downgrade": l.Downgrade(t.Context()),
		} {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("%s: %v, want ErrInvalid", what, err)
			}
		}
	})
}

// A deployment that lacks a feature is named, and one that is not known yet is asked for an ordinary lock.
func TestCachedNeedsFeatures(t *testing.T) {
	for _, lacks := range []string{messages.FeatureTokens, messages.FeatureNotices} {
		synctest.Test(t, func(t *testing.T) {
			s := newScripted(t)
			for _, f := range []string{messages.FeatureTokens, messages.FeatureNotices} {
				if f != lacks {
					s.features = append(s.features, f)
				}
			}
			_, err := s.client().Acquire(t.Context(), "r", Cached(time.Minute))
			var broken *messages.InvalidError
			if !errors.As(err, &broken) || broken.Field != "feature "+lacks {
				t.Errorf("without %s: %v", lacks, err)
			}
		})
	}
}

// AcquireAll returns the cached leases of its keys, and caches none.
func TestAcquireAllBesideCachedLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCaching(t)
		c := s.client(Defaults(Cached(time.Hour)))
		for _, l := range mustLocks(t, c, 3) {
			mustRelease(t, l)
		}
		all, err := c.AcquireAll(t.Context(), []string{"r0", "r1", "x"})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range all.All() {
			if l.token != 0 {
				t.Errorf("%v is a use of a cached lease", l)
			}
		}
		if err := all.Release(t.Context()); err != nil {
			t.Error(err)
		}
		for i, held := range []bool{false, false, true} {
			if got := s.leaseOf(fmt.Sprint("r", i)) != nil; got != held {
				t.Errorf("r%d is held: %v, want %v", i, got, held)
			}
		}
	})
}

// Notices are asked for when something listens, and only then.
func TestNoticesAreAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCaching(t)
		var asked atomic.Int64
		s.heardOf = func(m proto.Message) {
			if r, ok := m.(*messages.KeepRequest); ok && (r.GetNotices() || r.GetAlive() != "") {
				asked.Add(1)
			}
		}
		c := s.client()
		locks := mustLocks(t, c, 3)
		wait(DefaultTTL)
		if n := asked.Load(); n > 0 {
			t.Errorf("%d keeps ask for notices, and nobody listens", n)
		}
		wanted := locks[0].Wanted()
		wait(time.Second)
		if asked.Load() == 0 {
			t.Error("no keep asks for notices")
		}
		other := s.client()
		go func() { _, _ = other.Acquire(t.Context(), "r0") }()
		<-wanted
		wantValid(t, s, locks, allOfThem)
		wait(5 * DefaultTTL)
		wantValid(t, s, locks, allOfThem)
	})
}

var cacheSeeds = flag.Uint64("holdfast.cacheSeeds", 30, "how many cases of TestCachedLocksAreHeld")

// Whatever becomes of messages, and whoever wants what: a valid lock is held at the service, with its own token, there is
// one at a time, and each token is had once. When all messages arrive again, everybody gets what it waits for.
func TestCachedLocksAreHeld(t *testing.T) {
	const clients, workers, names, idle = 2, 3, 3, 2 * time.Second
	uses, cachedUses := 0, uint64(0)
	for seed := *firstSeed; seed < *firstSeed+*cacheSeeds; seed++ {
		synctest.Test(t, func(t *testing.T) {
			s := newCaching(t)
			fate := rand.New(rand.NewPCG(seed, 2))
			bad := fate.IntN(40)
			decide := func(messages.Operation) (there, back time.Duration) {
				delay := func() time.Duration {
					switch n := fate.IntN(100); {
					case n < bad/2:
						return lostOnTheWay
					case n < bad:
						return time.Duration(fate.Int64N(int64(3 * time.Second)))
					}
					return time.Duration(fate.Int64N(int64(2 * time.Millisecond)))
				}
				return delay(), delay()
			}
			all := make([]*Client, clients)
			for i := range all {
				all[i] = s.client(Timeout(2*time.Second), Defaults(TTL(4*time.Second), Cached(idle)))
			}
			s.script(decide)
			w := &uniqueUses{t: t, s: s, seed: seed, holders: map[string]*Lock{}, tokens: map[Claim]bool{}}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			var group sync.WaitGroup
			for i := range clients * workers {
				r := rand.New(rand.NewPCG(seed, uint64(10+i)))
				group.Go(func() {
					for ctx.Err() == nil {
						w.use(ctx, all[i%clients], fmt.Sprint("r", r.IntN(names)), r)
					}
				})
			}
			if seed%3 == 0 {
				wait(20 * time.Second)
				s.takeOver()
			}
			group.Wait()
			cancel()
			s.script(nil)
			wait(10 * time.Second)
			for i, c := range all {
				for n := range names {
					l, err := c.Acquire(t.Context(), fmt.Sprint("r", n), MaxWait(10*time.Second))
					if err != nil {
						t.Fatalf("seed %d: client %d does not get r%d: %v", seed, i, n, err)
					}
					_ = l.Release(t.Context())
				}
				cachedUses += c.CacheStats().Uses
			}
			uses += len(w.tokens)
		})
		if t.Failed() {
			return
		}
	}
	if cachedUses < uint64(uses)/4 {
		t.Errorf("%d locks of %d had a cached lease", cachedUses, uses)
	}
}

// uniqueUses checks the locks that several workers have.
type uniqueUses struct {
	t    *testing.T
	s    *scripted
	seed uint64

	mu      sync.Mutex
	holders map[string]*Lock
	tokens  map[Claim]bool
}

// use acquires a lock, holds it for a time and releases it.
func (w *uniqueUses) use(ctx context.Context, c *Client, name string, r *rand.Rand) {
	wait(time.Duration(r.Int64N(int64(100 * time.Millisecond))))
	acquire, opts := c.Acquire, []AcquireOption{MaxWait(time.Duration(1+r.IntN(10)) * time.Second)}
	switch r.IntN(6) {
	case 0:
		acquire, opts = c.TryAcquire, nil
	case 1:
		opts = append(opts, Cached(0))
	}
	l, err := acquire(ctx, name, opts...)
	if err != nil {
		return
	}
	w.begin(l)
	for range r.IntN(4) {
		wait(time.Duration(r.Int64N(int64(300 * time.Millisecond))))
		w.check(l)
	}
	w.mu.Lock()
	if w.holders[name] == l {
		delete(w.holders, name)
	}
	w.mu.Unlock()
	_ = l.Release(ctx)
}

func (w *uniqueUses) begin(l *Lock) {
	w.check(l)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tokens[l.Claim()] {
		w.t.Errorf("seed %d: %v is had twice", w.seed, l)
	}
	w.tokens[l.Claim()] = true
	if other := w.holders[l.Resource()]; other != nil && other.Valid() && l.Valid() {
		w.t.Errorf("seed %d: %v and %v are valid at the same time", w.seed, other, l)
	}
	w.holders[l.Resource()] = l
}

func (w *uniqueUses) check(l *Lock) {
	if l.Valid() && !w.s.has(l.Resource(), l.Token()) {
		w.t.Errorf("seed %d: %v is valid and not held", w.seed, l)
	}
}
