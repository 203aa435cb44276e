package holdfast

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

func mustLock(t *testing.T, c *Client, resource string, opts ...AcquireOption) *Lock {
	t.Helper()
	l, err := c.Acquire(t.Context(), resource, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A grant in answer to an attempt that is not expected any more is given back. A later attempt that was answered with
// the same lease holds nothing then.
func TestGrantToAnEarlyAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(t)
		c, rival := s.client(), s.client()
		held := mustLock(t, rival, "r")
		first := true
		s.script(func(op messages.Operation) (there, back time.Duration) {
			if op == messages.OpAcquire && !first {
				return lostOnTheWay, 0
			}
			first = first && op != messages.OpAcquire
			return 0, 0
		})
		done := make(chan *Lock)
		go func() { done <- mustLock(t, c, "r", TTL(4*time.Second)) }()
		wait(time.Minute)
		released := false
		s.script(func(op messages.Operation) (there, back time.Duration) {
			switch {
			case op == messages.OpAcquire:
				return 0, 2 * time.Second // it is answered when the lease has been given back
			case op == messages.OpRelease && released:
				return 1500 * time.Millisecond, 0
			}
			released = released || op == messages.OpRelease
			return 0, 0
		})
		if err := held.Release(t.Context()); err != nil {
			t.Error(err)
		}
		l := <-done
		s.mu.Lock()
		lease := s.leases["r"]
		s.mu.Unlock()
		if l.Valid() && (lease == nil || Token(lease.token) != l.Token()) {
			t.Errorf("%v is valid, the service has %+v", l, lease)
		}
	})
}

// wait lets virtual time pass.
func wait(d time.Duration) { <-time.After(d) }

// An answer to another attempt of a request grants its lease once more, when the client has lost it. Whoever has lost a
// lock may still be at work, so the lease is not given back: it runs out, and is lost at the service, too.
func TestGrantToALateAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ttl = 10 * time.Second
		s := newScripted(t)
		c := s.client()
		late := false
		s.script(func(op messages.Operation) (there, back time.Duration) {
			if op == messages.OpAcquire && late {
				return ttl - messages.FirstResend - 200*time.Millisecond, 0
			}
			late = late || op == messages.OpAcquire
			return 0, messages.FirstResend + 100*time.Millisecond // so that there is a second attempt
		})
		l := mustLock(t, c, "r", TTL(ttl), NoRenewal())
		<-l.Lost()
		s.count(messages.OpAcquire)
		wait(time.Until(l.Deadline().Add(ttl)))
		if late, released := s.count(messages.OpAcquire), s.count(messages.OpRelease); late != 1 || released > 0 {
			t.Errorf("%d attempts arrived late, and the lease was given back %d times", late, released)
		}
	})
}

// What is remembered of losses is bounded.
func TestLossesAreBounded(t *testing.T) {
	var l losses
	for n := range Token(maxLosses + 2) {
		l.add(leaseID{"r", n + 1})
		l.add(leaseID{"r", n + 1})
	}
	if l.has(leaseID{"r", 2}) || !l.has(leaseID{"r", 3}) || len(l.known) != maxLosses || len(l.oldest) != maxLosses {
		t.Errorf("%d losses are known, in a queue of %d", len(l.known), len(l.oldest))
	}
}
