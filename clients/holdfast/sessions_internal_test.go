package holdfast

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// mustLocks acquires so many locks, named after their number.
func mustLocks(t *testing.T, c *Client, n int, opts ...AcquireOption) (all []*Lock) {
	t.Helper()
	for i := range n {
		all = append(all, mustLock(t, c, fmt.Sprint("r", i), opts...))
	}
	return all
}

// wantValid checks which locks are held. The service must hold what the client takes for held.
func wantValid(t *testing.T, s *scripted, locks []*Lock, want func(i int) bool) {
	t.Helper()
	for i, l := range locks {
		if got := l.Valid(); got != want(i) {
			t.Errorf("lock %d is valid: %v, want %v", i, got, want(i))
		}
	}
	wantHeld(t, s, locks...)
}

// wantHeld checks that the service holds what the client takes for held.
func wantHeld(t *testing.T, s *scripted, locks ...*Lock) {
	t.Helper()
	for _, l := range locks {
		if l.Valid() && !s.holds(l.Resource(), l.Token()) {
			t.Fatalf("%v is valid and not held", l)
		}
	}
}

func allOfThem(int) bool { return true }

// A client with one lock, or with the option for it, renews each lock by itself.
func TestNoSession(t *testing.T) {
	for name, tc := range map[string]struct {
		locks   int
		opts    []Option
		options []AcquireOption
	}{
		"one lock":         {locks: 1},
		"per lock":         {locks: 2, opts: []Option{PerLockRenewal()}},
		"reentrant":        {locks: 2, options: []AcquireOption{Reentrant()}},
		"refused sessions": {locks: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScripted(t)
				var trials atomic.Int64
				if name == "refused sessions" {
					s.script(func(op messages.Operation) (there, back time.Duration) {
						if op == messages.OpKeep {
							trials.Add(1)
							return lostOnTheWay, 0
						}
						return 0, 0
					})
				}
				locks := mustLocks(t, s.client(tc.opts...), tc.locks, tc.options...)
				wait(10 * DefaultTTL)
				wantValid(t, s, locks, allOfThem)
				if extensions, keeps := s.count(messages.OpExtend),
					s.count(messages.OpKeep); extensions < 30*tc.locks || keeps > 0 {
					t.Errorf("%d extensions and %d keeps in ten TTLs", extensions, keeps)
				}
				if n := trials.Load(); n > 8 {
					t.Errorf("%d keeps that nothing answers, in five minutes", n)
				}
			})
		})
	}
}

// A shard may have no room for a session, or refuse it for another reason; then each lock is renewed by itself.
func TestRefusedSession(t *testing.T) {
	for _, refusal := range []messages.Status{messages.Status_OVERLOADED, messages.Status_INVALID} {
		t.Run(refusal.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScripted(t)
				s.refuse = func(_ string, r *messages.ExtendRequest) messages.Status {
					if r.GetSession() == "" {
						return 0
					}
					return refusal
				}
				locks := mustLocks(t, s.client(), 3)
				wait(5 * DefaultTTL)
				wantValid(t, s, locks, allOfThem)
				if n := s.count(messages.OpExtend); n > 3*5*6 {
					t.Errorf("%d extensions of 3 locks in 5 TTLs", n)
				}
			})
		})
	}
}

// A lock that the shard has no room for at the moment does not cost the others their session.
func TestOverloadOfOneLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(t)
		c := s.client()
		mustLocks(t, c, 20)
		wait(3 * DefaultTTL)
		of := map[string]int{}
		s.refuse = func(key string, _ *messages.ExtendRequest) messages.Status {
			if of[key]++; key == "new" && of[key] <= 2 {
				return messages.Status_OVERLOADED
			}
			return 0
		}
		l := mustLock(t, c, "new")
		wait(2 * DefaultTTL)
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(of) > 1 || !l.h.isCovered() {
			t.Errorf("extensions %v, the new lock is in a session: %v", of, l.h.isCovered())
		}
	})
}

// A downgrade that is refused says nothing of the session.
func TestRefusedDowngradeInASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(t)
		s.features = append(s.features, messages.FeatureSharing)
		locks := mustLocks(t, s.client(), 3)
		wait(3 * DefaultTTL)
		s.refuse = func(_ string, r *messages.ExtendRequest) messages.Status {
			if r.GetLimit() > 0 {
				return messages.Status_INVALID
			}
			return 0
		}
		s.count(messages.OpExtend)
		if err := locks[0].Downgrade(t.Context()); !errors.Is(err, ErrInvalid) {
			t.Errorf("downgrade: %v, want ErrInvalid", err)
		}
		wait(2 * DefaultTTL)
		if n := s.count(messages.OpExtend); n > 1 || !locks[0].h.isCovered() {
			t.Errorf("%d extensions, covered: %v", n, locks[0].h.isCovered())
		}
	})
}

// An extension that names no session takes its lease out of the session, also if another one has just put it there.
func TestExtensionOutOfACoverage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(t)
		locks := mustLocks(t, s.client(), 12)
		wait(3 * DefaultTTL)
		of, released := 0, 0
		s.refuse = func(key string, _ *messages.ExtendRequest) messages.Status {
			if key == "r0" {
				of++
			}
			if key == "r0" && of == 2 {
				return messages.Status_OVERLOADED
			}
			return 0
		}
		s.script(func(op messages.Operation) (there, back time.Duration) {
			switch {
			case op == messages.OpExtend:
				return time.Millisecond, time.Millisecond
			case op == messages.OpKeep && released+1 < len(locks): // so that held does not show that one is missing
				released++
				go func(l *Lock) { _ = l.Release(t.Context()) }(locks[released])
				return 0, 2 * time.Millisecond
			}
			return 0, 0
		})
		for range 2 {
			go func() { _ = locks[0].Extend(t.Context(), DefaultTTL) }()
			wait(100 * time.Microsecond)
		}
		for range 400 {
			wait(200 * time.Millisecond)
			wantHeld(t, s, locks[0])
		}
	})
}

// The loss of one lock is noticed with the next keep at the latest, and concerns no other.
func TestLossInASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(t)
		locks := mustLocks(t, s.client(), 20)
		wait(3 * DefaultTTL)
		for i := range 10 {
			s.breakLease(locks[i].Resource())
			wait(DefaultTTL/3 + 3*time.Second)
			wantValid(t, s, locks, func(j int) bool { return j > i })
			if err := locks[i].Release(t.Context()); !errors.Is(err, ErrLost) {
				t.Errorf("release of lock %d: %v", i, err)
			}
		}
		wait(3 * DefaultTTL)
		if s.count(messages.OpExtend); true {
			wait(3 * DefaultTTL)
		}
		if n := s.count(messages.OpExtend); n > 0 {
			t.Errorf("%d extensions after the losses, want all locks in a session again", n)
		}
	})
}

// The service may forget the session, or begin to refuse its keeps, and the locks are held on.
func TestEndOfKeeps(t *testing.T) {
	for name, trouble := range map[string]func(*scripted){
		"shard moves": (*scripted).takeOver,
		"session is unknown": func(s *scripted) {
			s.mu.Lock()
			defer s.mu.Unlock()
			for key, l := range s.leases {
				s.run(key, l, l.ttl)
			}
		},
		"keeps are lost": func(s *scripted) {
			s.script(func(op messages.Operation) (there, back time.Duration) {
				if op == messages.OpKeep {
					return lostOnTheWay, 0
				}
				return 0, 0
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScripted(t)
				locks := mustLocks(t, s.client(), 20)
				wait(3 * DefaultTTL)
				for range 5 {
					trouble(s)
					for range 100 {
						wait(DefaultTTL / 50)
						wantValid(t, s, locks, allOfThem)
					}
				}
			})
		})
	}
}

// A lease that could not be given back runs out, though the session in which it is has other leases.
func TestReleaseThatIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(t)
		locks := mustLocks(t, s.client(Timeout(time.Second)), 5)
		wait(3 * DefaultTTL)
		s.script(func(op messages.Operation) (there, back time.Duration) {
			if op == messages.OpRelease {
				return lostOnTheWay, 0
			}
			return 0, 0
		})
		if err := locks[0].Release(t.Context()); err == nil {
			t.Error("a release that is lost succeeds")
		}
		wait(4 * DefaultTTL)
		if s.holds("r0", locks[0].Token()) {
			t.Error("the lease is held for ever")
		}
		wantValid(t, s, locks, func(i int) bool { return i > 0 })
	})
}

// At a service that compares no orders, an extension from before may yet take the lease out of the session, so keeps do
// not count.
func TestLateExtension(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(t)
		s.features = []string{messages.FeatureSessions}
		locks := mustLocks(t, s.client(Defaults(TTL(2*time.Second))), 3)
		wait(10 * time.Second)
		extensions := 0
		s.script(func(op messages.Operation) (there, back time.Duration) {
			if op != messages.OpExtend {
				return 0, 0
			}
			switch extensions++; extensions {
			case 1:
				return 900 * time.Millisecond, lostOnTheWay
			case 2:
				return 0, 0
			}
			return lostOnTheWay, 0
		})
		go func() { _ = locks[0].Extend(t.Context(), time.Second) }()
		wait(time.Millisecond)
		if err := locks[0].Extend(t.Context(), 2*time.Second); err != nil {
			t.Error(err)
		}
		for range 300 {
			wait(10 * time.Millisecond)
			wantHeld(t, s, locks[0])
		}
	})
}

// An extension from before a loss does not have its lease prolonged by keeps after it.
func TestLateAnswerAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(t)
		locks := mustLocks(t, s.client(), 3)
		wait(3 * DefaultTTL)
		late, begun := true, time.Now()
		s.script(func(op messages.Operation) (there, back time.Duration) {
			switch {
			case op == messages.OpExtend && late:
				late = false
				return 0, DefaultTTL / 2
			case op == messages.OpExtend, time.Since(begun) > DefaultTTL/2:
				return lostOnTheWay, 0
			}
			return 0, 0
		})
		go func() { _ = locks[0].Extend(t.Context(), DefaultTTL) }()
		wait(time.Millisecond)
		s.breakLease("r0")
		wait(DefaultTTL - time.Second)
		if locks[0].Valid() {
			t.Error("a lock that was broken is prolonged")
		}
	})
}

// Another process of the owner may take a lease out of its session without a loss. It is noticed within two TTLs,
// however long keeps take, and however many other locks come and go.
func TestLeaseThatLeavesSilently(t *testing.T) {
	for name, tc := range map[string]struct {
		extended, busy bool
		way            time.Duration
	}{
		"released":               {},
		"extended":               {extended: true},
		"released, slow keeps":   {way: DefaultTTL / 8},
		"extended, slow keeps":   {extended: true, way: DefaultTTL / 8},
		"released, others leave": {busy: true, way: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScripted(t)
				locks := mustLocks(t, s.client(), 200)
				wait(5 * DefaultTTL)
				s.script(func(op messages.Operation) (there, back time.Duration) {
					if op == messages.OpKeep {
						return tc.way, tc.way
					}
					return 0, 0
				})
				wantValid(t, s, locks, allOfThem)
				if s.count(messages.OpExtend); !tc.busy {
					if wait(2 * DefaultTTL); s.count(messages.OpExtend) > 0 {
						t.Error("the locks are renewed one by one")
					}
				}
				s.leave("r0", tc.extended)
				for i := 1; i <= 2*len(locks)/3; i++ {
					if wait(3 * DefaultTTL / time.Duration(len(locks))); tc.busy {
						if err := locks[i].Release(t.Context()); err != nil {
							t.Error(err)
						}
					}
				}
				if wantHeld(t, s, locks[0]); locks[0].Valid() != tc.extended {
					t.Errorf("after two TTLs the lock is valid: %v", locks[0].Valid())
				}
			})
		})
	}
}

// A keep carries the secret of its session, where all nodes know the field.
func TestKeepHasTheSecret(t *testing.T) {
	for name, features := range map[string][]string{
		"known":   {messages.FeatureSessions, messages.FeatureSecrets, messages.FeatureKeepSecret},
		"unknown": {messages.FeatureSessions, messages.FeatureSecrets},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScripted(t)
				s.features = features
				keeps := 0
				secret := []byte("0123456789abcdef")
				s.heardOf = func(m proto.Message) {
					if k, ok := m.(*messages.KeepRequest); ok {
						if keeps++; string(k.GetSecret()) != map[string]string{"known": string(secret)}[name] {
							t.Errorf("a keep with the secret %q", k.GetSecret())
						}
					}
				}
				mustLocks(t, s.client(Secret(secret)), 3)
				if wait(3 * DefaultTTL); keeps == 0 {
					t.Error("there was no keep")
				}
			})
		})
	}
}

var (
	firstSeed = flag.Uint64("seed", 0, "the first seed of TestValidLocksAreHeld")
	seeds     = flag.Uint64("seeds", 60, "how many seeds TestValidLocksAreHeld tries")
)

// Whatever is lost, delayed, broken or moved: a lock that the client takes for held is held, unless it was broken
// within the last TTL, or another process of its owner released or extended it within the last two. A service that
// compares the order of requests may get them at any time; another one not later than after the TTL.
func TestValidLocksAreHeld(t *testing.T) {
	covered := 0
	for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			s := newScripted(t)
			maxDelay, slowKeeps := longest+longest/2, seed%5 == 2
			if seed%4 == 1 {
				s.features = []string{messages.FeatureBatch, messages.FeatureSessions}
				maxDelay = time.Second // as long as the shortest TTL
			}
			ttl, opts := 2*time.Second, []Option(nil)
			if s.deaf = seed%3 == 0; s.deaf {
				ttl, opts = 10*time.Second, []Option{ReleaseOnDisconnect(5 * time.Second)}
			}
			c := s.client(append(opts, Defaults(TTL(ttl)))...)
			fate, begun := rand.New(rand.NewPCG(seed, 2)), time.Now()
			bad := fate.IntN(40)
			s.script(func(op messages.Operation) (there, back time.Duration) {
				delay := func() time.Duration {
					switch n := fate.IntN(100); {
					// their answers come behind the next keep
					case slowKeeps && op == messages.OpKeep && time.Since(begun) > 3*ttl:
						return ttl / 8
					case n < bad/2:
						return lostOnTheWay
					case n < bad:
						return time.Duration(fate.Int64N(int64(maxDelay)))
					}
					return 0
				}
				return delay(), delay()
			})
			var locks []*Lock
			var broken []brokenLock
			most := map[*Lock]time.Duration{} // the longest TTL that was asked for
			for i := range 300 {
				switch r.IntN(32) {
				case 0, 1, 2, 3:
					if l, err := c.TryAcquire(t.Context(), fmt.Sprint("r", i)); err == nil {
						locks, most[l] = append(locks, l), ttl
					}
				case 4:
					if r.IntN(2) == 0 {
						s.reshard(1 + r.Uint32N(16))
					} else {
						s.takeOver()
					}
				case 5, 6:
					if len(locks) > 0 {
						n := r.IntN(len(locks))
						s.breakLease(locks[n].Resource())
						broken = append(broken, brokenLock{locks[n], time.Now().Add(most[locks[n]])})
						locks = slices.Delete(locks, n, n+1)
					}
				case 7:
					if len(locks) > 0 {
						n := r.IntN(len(locks))
						go func(l *Lock) { _ = l.Release(t.Context()) }(locks[n])
						locks = slices.Delete(locks, n, n+1)
					}
				case 8:
					if len(locks) > 0 {
						l, ttl := locks[r.IntN(len(locks))],
							[]time.Duration{time.Second, 2 * time.Second, longest}[r.IntN(3)]
						most[l] = max(most[l], ttl)
						go func() { _ = l.Extend(t.Context(), ttl) }()
					}
				case 9, 10:
					if len(locks) > 0 {
						n := r.IntN(len(locks))
						s.leave(locks[n].Resource(), r.IntN(2) == 0)
						broken = append(broken, brokenLock{locks[n], time.Now().Add(2 * most[locks[n]])})
						locks = slices.Delete(locks, n, n+1)
					}
				}
				for range 10 {
					wait(30 * time.Millisecond)
					for _, l := range locks {
						if l.Valid() && !s.holds(l.Resource(), l.Token()) {
							t.Fatalf("seed %d: %v is valid and not held", seed, l)
						}
						if l.h.isCovered() {
							covered++
						}
					}
					for _, b := range broken {
						if b.Valid() && time.Now().After(b.until) && !s.holds(b.Resource(), b.Token()) {
							t.Fatalf("seed %d: %v is valid after it was broken, or taken out of its session", seed, b)
						}
					}
				}
			}
		})
		if t.Failed() {
			return
		}
	}
	if covered == 0 {
		t.Error("no lock was ever in a session")
	}
}

// longest is the longest TTL to which the test extends a lock.
const longest = 15 * time.Second

// brokenLock is a lock that may be valid for so long, as the client may not know that it was broken.
type brokenLock struct {
	*Lock
	until time.Time
}

// isCovered reports whether keeps prolong the lease.
func (h *handle) isCovered() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.keeper != keeper(&h.extensions)
}

// A call that comes while another one releases the lock, or closes the client, waits no longer than its own context.
func TestLaterCallsHaveTheirOwnContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(t)
		client := s.client(Timeout(10 * time.Second))
		lock := mustLocks(t, client, 1)[0]
		s.script(func(op messages.Operation) (there, back time.Duration) {
			if op == messages.OpRelease {
				return 3 * time.Second, 0
			}
			return 0, 0
		})
		for _, call := range []func(context.Context) error{lock.Release, client.Close} {
			first := make(chan error, 1)
			go func() { first <- call(t.Context()) }()
			wait(time.Second)
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := call(ctx); err != nil && !errors.Is(err, ErrUnknown) || time.Since(began) > time.Second {
				t.Errorf("a later call returned %v after %v", err, time.Since(began))
			}
			if err := <-first; err != nil {
				t.Error(err)
			}
			if err := call(t.Context()); err != nil {
				t.Errorf("a call after all: %v", err)
			}
		}
	})
}
