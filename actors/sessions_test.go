package actors_test

import (
	"fmt"
	"testing"
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

// A keep lets all leases of a session run, and the end of the session ends them in one commit, which grants to those who
// wait.
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
