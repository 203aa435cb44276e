package actors_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

const sessionID = "session-000000001"

// inSession is an acquire in the session, with a TTL of ten seconds.
func inSession() lease.Acquire {
	return lease.Acquire{Request: &messages.AcquireRequest{Owner: "ann", TtlMs: 10_000, Session: sessionID}}
}

func keep(ttl time.Duration) lease.Keep {
	return lease.Keep{Request: &messages.KeepRequest{TtlMs: uint32(ttl.Milliseconds())}}
}

// A keep lets all leases of a session run, and the end of the session ends them in one commit, which grants to the
// requests that wait.
func TestSessionEndsInOneCommit(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		for i := range 20 {
			w.want(messages.Status_GRANTED, 1, fmt.Sprint("r", i), inSession())
		}
		waits := w.send("r7", waiting(time.Minute, time.Hour))
		w.pass(9 * time.Second)
		if r := w.ask(sessionID, keep(10*time.Second)); r.GetStatus() != messages.Status_EXTENDED || r.GetHeld() != 20 {
			w.Fatalf("keep: %v", r)
		}
		w.pass(10*time.Second - 1)
		w.want(messages.Status_HELD, 1, "r3", get())
		before := w.journal.Appends()
		w.pass(1)
		if n := w.journal.Appends() - before; n != 1 {
			w.Errorf("%d commits, want 1", n)
		}
		w.check(w.answer(waits), messages.Status_GRANTED, 2)
		w.want(messages.Status_NOT_HELD, 0, sessionID, keep(time.Second))
	})
}

// end ends a session.
func end(orphan bool) lease.EndSession {
	return lease.EndSession{Request: &messages.EndRequest{Orphan: orphan}}
}

// A session with many leases ends in several commits, so that other requests need not wait for all of them.
func TestLargeSessionEndsInTurns(t *testing.T) {
	const leases = 1000
	inWorld(t, actors.Tuning{}, func(w *world) {
		for i := range leases {
			w.want(messages.Status_GRANTED, 1, fmt.Sprint("r", i), inSession())
		}
		w.want(messages.Status_EXTENDED, 0, sessionID, keep(10*time.Second))
		before := w.journal.Appends()
		w.pass(10 * time.Second)
		if n := w.journal.Appends() - before; n != 4 {
			t.Errorf("%d commits, want 4", n)
		}
		for i := range leases {
			w.want(messages.Status_FREE, 1, fmt.Sprint("r", i), get())
		}
	})
}

// A new owner lets the leases run as long as was promised.
func TestRaisedTTLIsRecorded(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", inSession())
		w.want(messages.Status_EXTENDED, 0, sessionID, keep(time.Minute))
		w.reopen()
		w.pass(time.Minute - 1)
		w.want(messages.Status_HELD, 1, "r", get())
		w.pass(1)
		w.want(messages.Status_FREE, 1, "r", get())
	})
}

// An orphan has the rest of its time, also when its actor was stopped meanwhile.
func TestOrphansHaveTheRestOfTheirTime(t *testing.T) {
	inWorld(t, actors.Tuning{IdleAfter: time.Second}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", inSession())
		w.pass(4 * time.Second)
		w.want(messages.Status_RELEASED, 0, sessionID, end(true))
		w.want(messages.Status_NOT_HELD, 0, sessionID, keep(time.Second))
		w.pass(6*time.Second - 1)
		w.want(messages.Status_HELD, 1, "r", get())
		w.pass(1)
		w.want(messages.Status_FREE, 1, "r", get())
	})
}

// What a keep or an end of a session still waits for when its shard is handed over, the successor does; what has been
// decided is answered.
func TestHandOverOfSessions(t *testing.T) {
	const kept, ended = sessionID, "session-000000002"
	inPassingWorld(t, actors.Tuning{}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", inSession())
		leaving := inSession()
		leaving.Request.Session = ended
		w.want(messages.Status_GRANTED, 1, "s", leaving)
		letGo := w.hold()
		decided := w.send(kept, keep(10*time.Second))
		synctest.Wait()
		done := make(chan error, 1)
		go func() { done <- w.shard.HandOver(w.Context()) }()
		synctest.Wait()
		raised := w.send(kept, keep(time.Minute))
		end := w.send(ended, end(false))
		w.wantNone("before the commit", decided, raised, end)
		letGo(nil)
		must(t, <-done)
		w.wantEnded()
		w.check(w.answer(decided), messages.Status_EXTENDED, 0)
		w.wantNone("by a shard that is handed over", raised, end)
		w.wantPassed(raised, end)

		next := w.successor()
		next.open()
		defer next.close()
		next.takeOver(w.passed)
		next.check(next.answer(raised), messages.Status_EXTENDED, 0)
		next.check(next.answer(end), messages.Status_RELEASED, 0)
		next.want(messages.Status_FREE, 1, "s", get())
		next.pass(time.Minute - 1)
		next.want(messages.Status_HELD, 1, "r", get())
		next.pass(1)
		next.want(messages.Status_FREE, 1, "r", get())
	})
}

// The requests that wait until a session is settled, and cannot be answered any more, are passed to the successor.
func TestHandOverAmidTheEndOfASession(t *testing.T) {
	const leases = 1000
	inPassingWorld(t, actors.Tuning{}, func(w *world) {
		for i := range leases {
			w.want(messages.Status_GRANTED, 1, fmt.Sprint("r", i), inSession())
		}
		letGo := w.hold()
		end := w.send(sessionID, end(false))
		synctest.Wait()
		done := make(chan error, 1)
		go func() { done <- w.shard.HandOver(w.Context()) }()
		synctest.Wait()
		letGo(nil)
		must(t, <-done)
		w.wantNone("before all leases have ended", end)
		w.wantPassed(end)
		if n := len(w.ends()); n == 0 || n == leases {
			t.Fatalf("%d of %d leases had ended: the test is vacuous", n, leases)
		}

		next := w.successor()
		next.open()
		defer next.close()
		next.takeOver(w.passed)
		next.check(next.answer(end), messages.Status_RELEASED, 0)
		next.wantEndedOnce(leases)
	})
}

// A panic amid the end of a session loses nothing: each of its leases ends, and ends once.
func TestPanicAmidTheEndOfASession(t *testing.T) {
	const leases = 300
	panics := 0
	for readings := int64(5); readings < leases; readings += 40 {
		inWorld(t, actors.Tuning{}, func(w *world) {
			for i := range leases {
				w.want(messages.Status_GRANTED, 1, fmt.Sprint("r", i), inSession())
			}
			w.pass(time.Second)
			w.clock.panicAfter(readings)
			ended := w.send(sessionID, end(false))
			synctest.Wait() // no time passes
			if !strings.Contains(w.log.String(), "panic in a resource") {
				return
			}
			panics++
			w.check(w.answer(ended), messages.Status_RELEASED, 0)
			w.want(messages.Status_NOT_HELD, 0, sessionID, keep(time.Second))
			w.wantEndedOnce(leases)
		})
	}
	if panics == 0 {
		t.Error("nothing panicked: the test is vacuous")
	}
}

// ends counts the ends of leases in the journal, by resource.
func (w *world) ends() map[string]int {
	ends := make(map[string]int)
	for _, r := range w.journal.Records() {
		for _, c := range r.GetCommit().GetChanges() {
			if c.GetKind() == messages.Event_RELEASED || c.GetKind() == messages.Event_EXPIRED {
				ends[c.GetGrant().GetResource()]++
			}
		}
	}
	return ends
}

// wantEndedOnce checks that the leases of the resources r0, r1, … are free, and have ended once each.
func (w *world) wantEndedOnce(leases int) {
	w.Helper()
	ends := w.ends()
	for i := range leases {
		name := fmt.Sprint("r", i)
		if w.want(messages.Status_FREE, 1, name, get()); ends[name] != 1 {
			w.Fatalf("the lease of %s has ended %d times", name, ends[name])
		}
	}
}

// A keep is answered when a commit has proved the ownership.
func TestKeepOfADeposedOwner(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", inSession())
		letGo := w.hold()
		inbox := w.send(sessionID, keep(10*time.Second))
		if r := w.answer(inbox); r != nil {
			t.Errorf("got %v before a commit", r)
		}
		letGo(journal.ErrConflict)
		w.check(w.answer(inbox), messages.Status_UNAVAILABLE, 0)
	})
}
