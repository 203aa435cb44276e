package client_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

func TestReentrant(t *testing.T) {
	c, other := newClient(t, url), newClient(t, url)
	again := holdfast.Reentrant()

	t.Run("SameToken", func(t *testing.T) {
		outer, inner := mustAcquire(t, c, t.Name(), again), mustAcquire(t, c, t.Name(), again)
		if outer.Token() != inner.Token() {
			t.Errorf("got the tokens %v and %v", outer.Token(), inner.Token())
		}
		mustRelease(t, inner)
		if !outer.Valid() || inner.Valid() || outer.Context().Err() != nil || !mustGet(t, other, t.Name()).Held {
			t.Error("the first one ended with the second")
		}
		if err := inner.Extend(testContext(t), time.Hour); !errors.Is(err, holdfast.ErrReleased) {
			t.Errorf("the second one was extended after its release: %v", err)
		}
		mustRelease(t, outer)
		if mustGet(t, other, t.Name()).Held {
			t.Error("still held after the last release")
		}
	})

	t.Run("TryAcquire", func(t *testing.T) {
		outer := mustAcquire(t, c, t.Name(), again)
		inner, err := c.TryAcquire(testContext(t), t.Name(), again)
		if err != nil || inner.Token() != outer.Token() {
			t.Fatalf("got %v, %v", inner, err)
		}
		mustRelease(t, outer)
		if !inner.Valid() {
			t.Error("the second one ended with the first")
		}
		mustRelease(t, inner)
	})

	// One that was not asked for as re-entrant can be shared by one that is.
	t.Run("OuterIsPlain", func(t *testing.T) {
		outer := mustAcquire(t, c, t.Name())
		inner := mustAcquire(t, c, t.Name(), again)
		if outer.Token() != inner.Token() {
			t.Errorf("got the tokens %v and %v", outer.Token(), inner.Token())
		}
		mustRelease(t, outer)
		if !inner.Valid() || !mustGet(t, other, t.Name()).Held {
			t.Error("the second one ended with the first")
		}
		mustRelease(t, inner)
		untilFree(t, other, t.Name())
	})

	t.Run("OnlyOneself", func(t *testing.T) {
		mustAcquire(t, c, t.Name(), again)
		if _, err := other.TryAcquire(testContext(t), t.Name(), again); !errors.Is(err, holdfast.ErrHeld) {
			t.Errorf("another owner: got %v, want ErrHeld", err)
		}
		if _, err := c.TryAcquire(testContext(t), t.Name()); !errors.Is(err, holdfast.ErrHeld) {
			t.Errorf("not re-entrant: got %v, want ErrHeld", err)
		}
		if _, err := c.TryAcquire(testContext(t), t.Name(), again, holdfast.Owner("x")); !errors.Is(err, holdfast.ErrHeld) {
			t.Errorf("in another name: got %v, want ErrHeld", err)
		}
	})

	t.Run("Prolonged", func(t *testing.T) {
		l := mustAcquire(t, c, t.Name(), again, holdfast.TTL(time.Minute))
		mustAcquire(t, c, t.Name(), again, holdfast.TTL(2*time.Second))
		if left := time.Until(l.Deadline()); left < 30*time.Second {
			t.Errorf("cut down to %v", left)
		}
		mustAcquire(t, c, t.Name(), again, holdfast.TTL(time.Hour))
		if left := time.Until(l.Deadline()); left < 30*time.Minute {
			t.Errorf("only %v are left", left)
		}
	})

	t.Run("LostTogether", func(t *testing.T) {
		a, b := mustAcquire(t, c, t.Name(), again, holdfast.TTL(3*time.Second)), mustAcquire(t, c, t.Name(), again)
		if err := other.Break(testContext(t), t.Name(), a.Token(), "test"); err != nil {
			t.Fatal(err)
		}
		if err := a.Extend(testContext(t), time.Second); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("got %v, want ErrLost", err)
		}
		await(t, "the first is lost", a.Lost())
		await(t, "the second is lost", b.Lost())
		for _, l := range []*holdfast.Lock{a, b} {
			if err := l.Release(testContext(t)); !errors.Is(err, holdfast.ErrLost) {
				t.Errorf("got %v, want ErrLost", err)
			}
		}
		mustRelease(t, mustAcquire(t, c, t.Name(), again))
	})
}

// Clients that share a secret share locks, too.
func TestSharedSecret(t *testing.T) {
	secret := []byte(strings.Repeat("s", 32))
	one, two := newClient(t, url, holdfast.Secret(secret)), newClient(t, url, holdfast.Secret(secret))
	opts := []holdfast.AcquireOption{long, holdfast.Owner("me"), holdfast.Reentrant()}
	first, second := mustAcquire(t, one, t.Name(), opts...), mustAcquire(t, two, t.Name(), opts...)
	if first.Token() != second.Token() {
		t.Errorf("tokens %v and %v", first.Token(), second.Token())
	}
	mustRelease(t, first)
}

// A lock that is acquired while the last sharer leaves has either its lease or a new one, never one that has been
// given back: as long as a lock is valid, the service says so too.
func TestReentrantRelease(t *testing.T) {
	const sharers, turns = 8, 60
	c, other := newClient(t, url), newClient(t, url)
	for _, kind := range []string{"Acquire", "TryAcquire"} {
		t.Run(kind, func(t *testing.T) {
			var group sync.WaitGroup
			for range sharers {
				group.Go(func() {
					for range turns {
						checkShared(t, c, other, kind)
					}
				})
			}
			group.Wait()
			untilFree(t, other, t.Name())
		})
	}
}

func checkShared(t *testing.T, c, other *holdfast.Client, kind string) {
	t.Helper()
	acquire := c.Acquire
	if kind == "TryAcquire" {
		acquire = c.TryAcquire
	}
	l, err := acquire(testContext(t), t.Name(), holdfast.Reentrant(), holdfast.TTL(time.Hour))
	if err != nil {
		t.Error(err)
		return
	}
	if s := mustGet(t, other, t.Name()); !s.Held || s.Token != l.Token() {
		t.Errorf("%v: the service says %v, held %v", l, s.Token, s.Held)
	}
	if err := l.Release(testContext(t)); err != nil {
		t.Error(err)
	}
}
