package holdfast

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// A lock is renewed until its longest hold is over, lost then, and the service has it hardly longer, whatever its TTL is.
func TestLongestHold(t *testing.T) {
	const slack = 200 * time.Millisecond
	for _, ttl := range []time.Duration{300 * time.Millisecond, time.Second, 7 * time.Second, 10 * time.Second, time.Hour} {
		for _, by := range []string{"renewals", "Extend"} {
			t.Run(ttl.String()+"/"+by, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const longest = 10 * time.Second
					s := newScripted(t)
					c := s.client()
					mustLocks(t, c, 2, TTL(ttl))
					begun := time.Now()
					l := mustLock(t, c, "r", TTL(ttl), MaxHold(longest))
					if by == "Extend" {
						wait(100 * time.Millisecond)
						if err := l.Extend(t.Context(), time.Hour); err != nil {
							t.Fatal(err)
						}
					}
					<-l.Lost()
					if held := time.Since(begun); held > longest || held < longest-longest/8-slack {
						t.Errorf("lost after %v, want %v", held, longest)
					}
					if cause := context.Cause(l.Context()); !errors.Is(cause, ErrMaxHold) || !errors.Is(cause, ErrLost) {
						t.Errorf("lost with %v, want ErrMaxHold", cause)
					}
					if ls := s.leaseOf("r"); ls != nil && ls.session != "" {
						t.Error("the lease is in a session")
					}
					wait(longest - time.Since(begun) + slack)
					if s.holds("r", 1) {
						t.Error("the service holds the lease longer than that")
					}
				})
			})
		}
	}
}

// A lock whose renewals fail before its longest hold is over is lost for that reason.
func TestLossBeforeTheLongestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(t)
		l := mustLock(t, s.client(), "r", TTL(2*time.Second), MaxHold(time.Minute))
		wait(5 * time.Second)
		s.script(func(messages.Operation) (there, back time.Duration) { return lostOnTheWay, 0 })
		<-l.Lost()
		if cause := context.Cause(l.Context()); errors.Is(cause, ErrMaxHold) {
			t.Errorf("lost with %v", cause)
		}
	})
}

// Close to the end nothing is asked any more.
func TestExtendAtTheEndOfTheLongestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(t)
		l := mustLock(t, s.client(), "r", TTL(time.Second), MaxHold(300*time.Millisecond))
		wait(230 * time.Millisecond)
		if err := l.Extend(t.Context(), time.Second); !errors.Is(err, ErrInvalid) || !l.Valid() {
			t.Errorf("an extension at the end: %v, want ErrInvalid; the lock is valid: %v", err, l.Valid())
		}
		if n := s.count(messages.OpExtend); n > 0 {
			t.Errorf("%d extensions, want none", n)
		}
	})
}
