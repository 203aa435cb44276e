package holdfast

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// When the deployment has another number of shards, no lock is lost, and each is in a session of its new shard soon
// after the client has learned of them.
func TestSessionsOfOtherShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(t)
		s.shards.Store(4)
		c := s.client()
		locks := mustLocks(t, c, 40)
		wait(3 * DefaultTTL)
		s.script(func(op messages.Operation) (there, back time.Duration) {
			if op == opInfo {
				return DefaultTTL / 3, 0 // until then the locks are kept on the former subjects
			}
			return 0, 0
		})
		for _, shards := range []uint32{16, 3} {
			s.reshard(shards)
			wait(2 * DefaultTTL)
			wantValid(t, s, locks, allOfThem)
			present := messages.Shards{Generation: s.generation.Load(), Count: shards}
			s.mu.Lock()
			for key, l := range s.leases {
				if to := s.kept[l.session]; !to.Direct || to.Shard != present.Of(key) {
					t.Errorf("of %d shards: the session of %s is kept at %+v", shards, key, to)
				}
			}
			s.mu.Unlock()
			if n := len(c.sessions.all()); n > int(shards) {
				t.Errorf("%d sessions for %d shards", n, shards)
			}
			s.count(messages.OpExtend)
			wait(3 * DefaultTTL)
			if n := s.count(messages.OpExtend); n > 0 {
				t.Errorf("of %d shards: %d extensions, want all locks in sessions again", shards, n)
			}
		}
	})
}

// A client that learns of other shards asks for them once. The header is a hint, which anybody who can answer may make
// up: it costs a few questions.
func TestForgedGeneration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(t)
		c := s.client()
		locks := mustLocks(t, c, 40)
		wait(minDoubt)
		if n := s.count(opInfo); n != 1 {
			t.Fatalf("asked %d times for the shards, want once", n)
		}
		for _, forged := range []string{"7", "none", "18446744073709551616"} {
			s.forged.Store(forged)
			for i := range 100 {
				mustRelease(t, mustLock(t, c, fmt.Sprint(forged, i)))
			}
			wait(maxDoubt + time.Second)
			if n := s.count(opInfo); n < 1 || n > 6 {
				t.Errorf("generation %s in 100 answers: asked %d times for the shards", forged, n)
			}
			for range 600 {
				mustRelease(t, mustLock(t, c, "more"))
				wait(time.Second)
			}
			if n := s.count(opInfo); n < 1 || n > 21 {
				t.Errorf("generation %s for ten minutes: asked %d times for the shards", forged, n)
			}
		}
		wantValid(t, s, locks, allOfThem)
		if c.deployment.info.Load().layout() != (messages.Shards{Count: 1}) {
			t.Error("a header is believed")
		}
		s.forged.Store("")
		s.reshard(5)
		for range int(maxDoubt/time.Second) + 1 {
			mustRelease(t, mustLock(t, c, "more"))
			wait(time.Second)
		}
		if got := c.deployment.info.Load().layout(); got != (messages.Shards{Generation: 1, Count: 5}) {
			t.Errorf("the shards are %+v", got)
		}
	})
}
