package actors_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// wantRest checks that r is held for so long and no longer.
func (w *world) wantRest(rest time.Duration) {
	w.Helper()
	if got := w.ask("r", get()).GetLease().GetRemainingMs(); got != uint32(rest.Milliseconds()) {
		w.Errorf("%d ms are left, want %v", got, rest)
	}
	w.pass(rest - 1)
	w.want(messages.Status_HELD, 0, "r", get())
	w.pass(1)
	w.want(messages.Status_FREE, 0, "r", get())
}

// What was left of a lease when its owner stopped is left of it when the next one opens the shard, however long that
// took: of one that was extended, is shared or in a session that was kept, and of a delay. A death hands nothing over.
func TestRestOfALeaseIsHandedOver(t *testing.T) {
	const ttl, away = 10 * time.Second, time.Hour
	cases := map[string]struct {
		begin func(w *world)
		rest  time.Duration
	}{
		"acquired": {func(w *world) {
			w.want(messages.Status_GRANTED, 1, "r", acquire("ann", ttl))
			w.pass(6 * time.Second)
		}, 4 * time.Second},
		"extended": {func(w *world) {
			w.want(messages.Status_GRANTED, 1, "r", acquire("ann", time.Second))
			w.want(messages.Status_EXTENDED, 1, "r", extend("ann", ttl))
			w.pass(6 * time.Second)
		}, 4 * time.Second},
		"shared": {func(w *world) {
			w.want(messages.Status_GRANTED, 1, "r", shared("ann", 2, 1, ttl))
			w.want(messages.Status_GRANTED, 2, "r", shared("bob", 2, 1, 2*time.Second))
			w.pass(6 * time.Second)
		}, 4 * time.Second},
		"in a session": {func(w *world) {
			w.want(messages.Status_GRANTED, 1, "r", inSession())
			w.pass(5 * time.Second)
			w.want(messages.Status_EXTENDED, 0, sessionID, keep(ttl))
			w.pass(6 * time.Second)
		}, 4 * time.Second},
		"over in a moment": {func(w *world) {
			w.want(messages.Status_GRANTED, 1, "r", acquire("ann", ttl))
			w.pass(ttl - time.Millisecond)
		}, time.Millisecond},
		"of an earlier owner": {func(w *world) {
			w.want(messages.Status_GRANTED, 1, "r", acquire("ann", ttl))
			w.pass(3 * time.Second)
			w.restart(away)
			w.pass(3 * time.Second)
		}, 4 * time.Second},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			inWorld(t, actors.Tuning{}, func(w *world) {
				test.begin(w)
				w.restart(away)
				w.wantRest(test.rest)
			})
			inWorld(t, actors.Tuning{}, func(w *world) {
				test.begin(w)
				w.reopen()
				w.wantRest(ttl)
			})
		})
	}
}

func TestRestOfADelayIsHandedOver(t *testing.T) {
	for name, tuning := range map[string]actors.Tuning{"from the journal": {},
		"from pages": {CompactCommits: 1, History: 1}} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, tuning, func(w *world) {
				w.want(messages.Status_GRANTED, 1, "r", delayed(time.Minute))
				w.pass(31 * time.Second)
				w.wantLeft("r", 30*time.Second)
				w.restart(time.Hour)
				w.wantLeft("r", 30*time.Second)
				w.pass(30*time.Second - 1)
				w.wantLeft("r", time.Millisecond)
				w.pass(1)
				w.want(messages.Status_FREE, 1, "r", get())
			})
		})
	}
}

// What was handed over counts for who takes the shard over right behind it. Another owner was there in between, which
// may have promised more.
func TestOnlyTheNextOwnerInherits(t *testing.T) {
	inWorld(t, actors.Tuning{CompactCommits: 1}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", acquire("ann", 10*time.Second))
		w.endGrants("ended", 2)
		w.pass(6 * time.Second)
		w.restart(0)
		w.wantLate("ended", 1, 2)
		w.reopen()
		w.want(messages.Status_GRANTED, 3, "ended", byID("a", "x1"))
		w.wantRest(10 * time.Second)
	})
}

// More than fits into a commit is left out: those leases run in full, and the newest ended requests are known.
func TestHandOverIsBounded(t *testing.T) {
	const ended = 100
	for leases, want := range map[int]int{100: 100, 400: 0} {
		testBoundOfHandOver(t, leases, want, ended)
	}
}

// A key may stand for two leases, so of too many none is handed over.
func testBoundOfHandOver(t *testing.T, leases, want, ended int) {
	t.Helper()
	inWorld(t, actors.Tuning{CommitBytes: 2 << 10}, func(w *world) {
		for i := range leases {
			w.want(messages.Status_GRANTED, 1, fmt.Sprint("r", i), acquire("ann", time.Minute))
		}
		w.endGrants("ended", ended)
		w.pass(50 * time.Second)
		w.close()
		records := w.journal.Records()
		h := records[len(records)-1].GetCommit().GetHandOver()
		if n := len(h.GetLeftMs()); n != want {
			t.Errorf("%d of %d leases are handed over, want %d", n, leases, want)
		}
		if n := len(h.GetEnded()); n == 0 || n == ended {
			t.Errorf("%d of %d ended requests are handed over", n, ended)
		}
		if _, data, err := journal.Encode(records[len(records)-1]); err != nil || len(data) > 4<<10 {
			t.Errorf("the commit has %d bytes, error %v", len(data), err)
		}
		w.open()
		count := map[uint32]int{}
		for i := range leases {
			count[w.ask(fmt.Sprint("r", i), get()).GetLease().GetRemainingMs()]++
		}
		if n := len(h.GetLeftMs()); count[10_000] != n || count[60_000] != leases-n {
			t.Errorf("of %d leases these are left: %v", leases, count)
		}
	})
}

// The next owner knows the requests that have ended or were withdrawn, and those that share a lease.
func TestEndedRequestsAreHandedOver(t *testing.T) {
	inPassingWorld(t, actors.Tuning{}, func(w *world) {
		w.endGrants("r", 5)
		w.want(messages.Status_NOT_HELD, 0, "r", lease.Release{
			Request: &messages.ReleaseRequest{Owner: "a", RequestId: "gone"}})
		secret := byID("a", "secret")
		secret.Request.SecretHash = messages.HashSecret([]byte("a secret of 16 b"))
		w.want(messages.Status_GRANTED, 1, "s", secret)
		open := release("a")
		open.Request.Secret = []byte("a secret of 16 b")
		w.want(messages.Status_RELEASED, 0, "s", open)
		w.want(messages.Status_GRANTED, 2, "s", acquire("b", time.Hour))
		w.want(messages.Status_GRANTED, 1, "shared", byID("a", "first"))
		again := byID("a", "again")
		again.Request.Reentrant = true
		w.want(messages.Status_GRANTED, 1, "shared", again)
		volatile := ephemeral(time.Minute)
		volatile.Request.RequestId = "x"
		w.want(messages.Status_GRANTED, 1, "e", volatile)
		w.handOver()

		next := w.successor()
		next.open()
		defer next.close()
		next.wantLate("r", 1, 2, 3, 4, 5)
		next.want(messages.Status_CANCELLED, 0, "r", byID("a", "gone"))
		next.want(messages.Status_NOT_OWNER, 2, "s", secret)
		next.want(messages.Status_EXPIRED, 1, "e", volatile)
		next.want(messages.Status_GRANTED, 1, "shared", again)
		next.want(messages.Status_RELEASED, 0, "shared", release("a"))
		next.want(messages.Status_RELEASED, 1, "shared", again)
	})
}

// openings notes whose the shard was before each opening.
type openings struct {
	actors.Observer
	from []actors.Takeover
}

func (o *openings) Opened(_ uint32, from actors.Takeover, _ time.Duration) {
	o.from = append(o.from, from)
}

// A shard that has nothing to hand over says so to its successor, which knows then that its owner did not fail.
func TestNothingToHandOver(t *testing.T) {
	for _, fails := range []bool{false, true} {
		inPassingWorld(t, actors.Tuning{}, func(w *world) {
			w.want(messages.Status_FREE, 0, "r", get())
			synctest.Wait()
			before, want := w.journal.Appends(), actors.TakeoverHandedOver
			if fails {
				want = actors.TakeoverMoved
			} else {
				w.handOver()
				if n := w.journal.Appends() - before; n != 1 {
					t.Errorf("%d appends", n)
				}
			}
			next, seen := w.successor(), &openings{Observer: w.observer}
			next.observer, next.node = seen, "n2"
			next.open()
			defer next.close()
			if !slices.Equal(seen.from, []actors.Takeover{want}) {
				t.Errorf("the former owner fails: %v; it was %v, want %v", fails, seen.from, want)
			}
		})
	}
}

// A hand-over that cannot be stored costs nothing but what it would have handed over.
func TestHandOverThatIsNotStored(t *testing.T) {
	for _, err := range []error{journal.ErrNotStored, journal.ErrConflict, errors.New("no answer")} {
		inPassingWorld(t, actors.Tuning{}, func(w *world) {
			w.want(messages.Status_GRANTED, 1, "r", acquire("ann", 10*time.Second))
			w.pass(6 * time.Second)
			waits := w.send("r", waiting(time.Minute, time.Minute))
			synctest.Wait()
			letGo := w.hold()
			done := make(chan error, 1)
			go func() { done <- w.shard.HandOver(w.Context()) }()
			synctest.Wait()
			letGo(err)
			must(t, <-done)
			w.wantPassed(waits)
			next := w.successor()
			next.open()
			defer next.close()
			next.wantRest(10 * time.Second)
		})
	}
}
