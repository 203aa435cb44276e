package actors_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

const sessionID = "session-000000001"

// inSession is an acquire of the owner in the session, with a TTL of ten seconds.
func inSession(owner string) lease.Acquire {
	return lease.Acquire{Request: &messages.AcquireRequest{Owner: owner, TtlMs: 10_000, Session: sessionID}}
}

func keep(ttl time.Duration) lease.Keep {
	return lease.Keep{Request: &messages.KeepRequest{TtlMs: uint32(ttl.Milliseconds())}}
}

// A keep lets all leases of a session run, and the end of the session ends them in one commit, which grants to those who
// wait.
func TestSessionEndsInOneCommit(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		for i := range 20 {
			w.want(messages.Status_GRANTED, 1, fmt.Sprint("r", i), inSession("ann"))
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
