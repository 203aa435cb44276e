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
