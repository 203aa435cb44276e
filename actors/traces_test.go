package actors_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/node/tracing"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// inTracedWorld runs test with an open shard that notes in traces, some time after the start of the clock.
func inTracedWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	inClosedWorld(t, actors.DefaultTuning(), func(w *world) {
		w.traced = true
		w.answers.before = func(a lease.Answer) {
			if a.To.Origin.Trace != nil {
				tracing.Finish(a, time.Duration(w.clock.Now().Instant))
			}
		}
		w.pass(time.Second)
		w.open()
		test(w)
	})
}

// asking is the context of the request with a number.
func asking(n byte) messages.TraceContext { return messages.TraceContext{SpanID: [8]byte{n}} }

// tracedRequest sends a request in the context with a number, and returns its trace.
func (w *world) tracedRequest(n byte, resource string, e lease.Event) *messages.Trace {
	w.Helper()
	x := &messages.Trace{Context: asking(n)}
	w.trace = x
	w.send(resource, e)
	w.trace = nil
	synctest.Wait()
	return x
}

// A wait links to the requests by which the resource is held, as long as it is.
func TestTracedHoldersFollowTheirLeases(t *testing.T) {
	ending := func(status messages.Status, e lease.Event) func(*world) {
		return func(w *world) { w.want(status, 0, "r", e) }
	}
	downgrade := extend("a", 10*time.Second)
	downgrade.Request.Limit = 5
	inMemory := inMemory(acquire("a", 10*time.Second))
	for name, test := range map[string]struct {
		held lease.Acquire
		then func(*world)
		// holds: the first holder still does.
		holds bool
	}{
		"Nothing":   {acquire("a", 10*time.Second), ending(messages.Status_HELD, get()), true},
		"Release":   {acquire("a", 10*time.Second), ending(messages.Status_RELEASED, release("a")), false},
		"Expiry":    {acquire("a", 10*time.Second), func(w *world) { w.pass(11 * time.Second) }, false},
		"Break":     {acquire("a", 10*time.Second), ending(messages.Status_RELEASED, breakOf(1)), false},
		"Downgrade": {acquire("a", 10*time.Second), ending(messages.Status_EXTENDED, downgrade), true},
		"EndOfSession": {inSession(), func(w *world) {
			w.want(messages.Status_RELEASED, 0, sessionID, end(false))
		}, false},
		"NothingInMemory":   {inMemory, ending(messages.Status_HELD, get()), true},
		"ReleaseInMemory":   {inMemory, ending(messages.Status_RELEASED, release("a")), false},
		"ExpiryInMemory":    {inMemory, func(w *world) { w.pass(11 * time.Second) }, false},
		"BreakInMemory":     {inMemory, ending(messages.Status_RELEASED, breakOf(1)), false},
		"DowngradeInMemory": {inMemory, ending(messages.Status_EXTENDED, downgrade), true},
	} {
		t.Run(name, func(t *testing.T) {
			inTracedWorld(t, func(w *world) {
				w.tracedRequest(1, "r", test.held)
				test.then(w)
				var want []messages.TraceContext
				if test.holds {
					want = append(want, asking(1))
				} else {
					w.want(messages.Status_GRANTED, 0, "r", acquire("c", time.Minute))
				}
				x := w.tracedRequest(2, "r", waiting(time.Minute, time.Minute))
				if x.Decided == 0 || !slices.Equal(x.WaitedFor, want) {
					t.Errorf("the request waits from %v for %v, want for %v", x.Decided, x.WaitedFor, want)
				}
			})
		})
	}
}

func breakOf(token uint64) lease.Break {
	return lease.Break{Request: &messages.BreakRequest{Token: token, Reason: "test"}}
}

// What a shard does with requests about sessions is noted like that with others.
func TestTracesOfSessions(t *testing.T) {
	inTracedWorld(t, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", inSession())
		keep := w.tracedRequest(1, sessionID, keep(10*time.Second))
		if keep.Decided == 0 || keep.Settled != keep.Decided || keep.Committed < keep.Settled {
			t.Errorf("a keep: decided at %v, settled at %v, committed at %v", keep.Decided, keep.Settled,
				keep.Committed)
		}
		letGo := w.hold()
		end := w.tracedRequest(2, sessionID, end(false))
		w.pass(time.Second)
		letGo(nil)
		synctest.Wait()
		if end.Decided == 0 || end.Settled != end.Decided || end.Committed != end.Settled+time.Second {
			t.Errorf("an end: decided at %v, settled at %v, committed at %v", end.Decided, end.Settled, end.Committed)
		}
	})
}

// A request that waited when its shard was lost has waited until then.
func TestTraceOfALostShard(t *testing.T) {
	inTracedWorld(t, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Minute))
		x := w.tracedRequest(1, "r", waiting(time.Minute, time.Minute))
		letGo := w.hold()
		w.send("other", acquire("a", time.Minute))
		w.pass(time.Second)
		letGo(journal.ErrConflict)
		synctest.Wait()
		if x.Decided == 0 || x.Settled != x.Decided+time.Second || x.Committed != 0 {
			t.Errorf("decided at %v, settled at %v, committed at %v", x.Decided, x.Settled, x.Committed)
		}
	})
}
