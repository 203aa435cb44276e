package actors_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// ephemeral is an acquire by a.
func ephemeral(ttl time.Duration) lease.Acquire {
	a := acquire("a", ttl)
	a.Request.Durability = messages.Durability_EPHEMERAL
	return a
}

func TestEphemeralLeasesCostNoAppend(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", ephemeral(time.Minute))
		w.want(messages.Status_RELEASED, 0, "r", release("a"))
		before := w.journal.Appends()
		for token := uint64(2); token <= 900; token++ {
			w.want(messages.Status_GRANTED, token, "r", ephemeral(time.Minute))
			w.want(messages.Status_HELD, token, "r", acquire("b", time.Minute))
			w.want(messages.Status_EXTENDED, token, "r", extend("a", time.Minute))
			w.want(messages.Status_HELD, token, "r", get())
			w.want(messages.Status_RELEASED, 0, "r", release("a"))
		}
		if n := w.journal.Appends() - before; n != 0 {
			w.Errorf("%d appends", n)
		}
		for token := uint64(901); token <= 1100; token++ { // into the next block
			w.want(messages.Status_GRANTED, token, "r", ephemeral(time.Minute))
			w.want(messages.Status_RELEASED, 0, "r", release("a"))
		}
	})
}

func TestEphemeralLeaseEndsWithItsOwnerAndItsTokensGrow(t *testing.T) {
	inWorld(t, actors.Tuning{CompactCommits: 3}, func(w *world) {
		last := uint64(0)
		for range 20 {
			r := w.ask("r", ephemeral(time.Hour))
			if token := r.GetLease().GetToken(); r.GetStatus() != messages.Status_GRANTED || token <= last {
				w.Fatalf("got %v behind token %d", r, last)
			}
			last = r.GetLease().GetToken()
			w.reopen()
			w.want(messages.Status_NOT_HELD, 0, "r", extend("a", time.Hour))
		}
	})
}

func TestIdleEphemeralLeaseIsKept(t *testing.T) {
	inWorld(t, actors.Tuning{IdleAfter: time.Second}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", ephemeral(time.Hour))
		w.pass(time.Hour - 1)
		w.want(messages.Status_HELD, 1, "r", get())
		w.pass(1)
		w.want(messages.Status_EXPIRED, 0, "r", release("a"))
	})
}

// A lock that is idle between its leases goes on in its block of tokens, and knows its last lease. What its owner has
// in memory only is gone with it: the next owner begins above the block.
func TestIdleEphemeralLockKeepsItsBlock(t *testing.T) {
	inWorld(t, actors.Tuning{IdleAfter: time.Second}, func(w *world) {
		before := w.journal.Appends()
		for token := uint64(1); token <= 1100; token++ {
			w.want(messages.Status_GRANTED, token, "r", ephemeral(time.Minute))
			w.want(messages.Status_RELEASED, 0, "r", release("a"))
			w.idle()
			w.want(messages.Status_FREE, token, "r", get())
			w.want(messages.Status_RELEASED, 0, "r", release("a"))
			w.idle()
		}
		reservations := 0
		for _, r := range w.journal.Records() {
			for _, c := range r.GetCommit().GetChanges() {
				reservations += int(min(c.GetReserved(), 1))
			}
		}
		if reservations != 2 {
			w.Errorf("%d reservations in %d appends, want 2", reservations, w.journal.Appends()-before)
		}
		w.want(messages.Status_GRANTED, 1101, "r", acquire("b", time.Minute)) // and so does a persistent lease
		w.want(messages.Status_RELEASED, 0, "r", release("b"))
		w.want(messages.Status_GRANTED, 1102, "r", ephemeral(time.Minute))
		w.want(messages.Status_RELEASED, 0, "r", release("a"))
		w.idle()
		w.reopen()
		w.want(messages.Status_GRANTED, 2102, "r", ephemeral(time.Minute))
	})
}

// idle lets the actors go that are not in use.
func (w *world) idle() {
	w.Helper()
	w.pass(2 * w.tuning.IdleAfter)
	if n := w.actors(); n != 0 {
		w.Fatalf("%d resources have an actor", n)
	}
}

// Beside a shared lease that is recorded, ephemeral ones go on in their block, too.
func TestIdleSharedResourceKeepsItsBlock(t *testing.T) {
	inWorld(t, actors.Tuning{IdleAfter: time.Second}, func(w *world) {
		shared := func(a lease.Acquire) lease.Acquire {
			a.Request.Limit = 10
			return a
		}
		w.want(messages.Status_GRANTED, 1, "r", shared(acquire("b", time.Hour)))
		for token := uint64(2); token < 10; token++ {
			w.want(messages.Status_GRANTED, token, "r", shared(ephemeral(time.Minute)))
			w.want(messages.Status_RELEASED, 0, "r", release("a"))
			w.idle()
		}
		w.want(messages.Status_EXTENDED, 1, "r", extend("b", time.Hour))
		w.want(messages.Status_RELEASED, 0, "r", release("b"))
		w.idle()
		w.want(messages.Status_GRANTED, 10, "r", acquire("b", time.Hour))
	})
}

// Whatever happens to ephemeral and persistent locks, their tokens grow. They grow by one, except at a change of owner,
// a panic, and when the name was forgotten.
func TestTokensOfIdleLocks(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			tuning := actors.Tuning{IdleAfter: time.Second, ShrinkAfter: 10 * time.Second, Remember: 50 * time.Second,
				History: 1, CompactCommits: 20}
			inWorld(t, tuning, func(w *world) {
				random := rand.New(rand.NewPCG(seed, 0))
				last, until := map[string]uint64{}, map[string]time.Time{} // the owner knows the last token
				for range 400 {
					resource := fmt.Sprint("r", random.IntN(3))
					switch n := random.IntN(100); {
					case n < 70:
						op := acquire("a", time.Minute)
						if random.IntN(3) > 0 {
							op = ephemeral(time.Minute)
						}
						r := w.ask(resource, op)
						w.check(r, messages.Status_GRANTED, 0)
						token := r.GetLease().GetToken()
						if token <= last[resource] || token != last[resource]+1 && time.Now().Before(until[resource]) {
							w.Fatalf("%s: token %d behind token %d", resource, token, last[resource])
						}
						last[resource], until[resource] = token, time.Now().Add(w.tuning.Remember)
						w.want(messages.Status_RELEASED, 0, resource, release("a"))
						w.want(messages.Status_RELEASED, 0, resource, release("a"))
					case n < 90:
						w.pass(time.Duration(random.IntN(20_000)) * time.Millisecond)
					case n < 94:
						w.clock.panicAfter(0)
						w.send(resource, get())
						synctest.Wait()
						delete(until, resource)
					case n < 97:
						w.reopen()
						clear(until)
					default:
						w.pass(2 * time.Minute) // all are forgotten
					}
				}
			})
		})
	}
}

// An ephemeral lease behind a persistent one must not be seen before the end of that one is sure.
func TestEphemeralLeaseWaitsForThePersistentOneBeforeIt(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", ephemeral(time.Hour))
		w.want(messages.Status_RELEASED, 0, "r", release("a"))
		w.want(messages.Status_GRANTED, 2, "r", acquire("b", time.Hour))
		letGo := w.hold()
		inboxes := []string{
			w.send("r", release("b")),
			w.send("r", ephemeral(time.Hour)),
			w.send("r", get()),
		}
		synctest.Wait()
		w.wantNone("before the release was confirmed", inboxes...)
		letGo(nil)
		w.check(w.answer(inboxes[0]), messages.Status_RELEASED, 0)
		w.check(w.answer(inboxes[1]), messages.Status_GRANTED, 3)
		w.check(w.answer(inboxes[2]), messages.Status_HELD, 3)
	})
}

// However many resources fall idle at once, their actors go, and those that must stay do.
func TestManyIdleResources(t *testing.T) {
	inWorld(t, actors.Tuning{IdleAfter: time.Second, MaxPending: 100_000}, func(w *world) {
		for i := range 1200 {
			w.send(fmt.Sprint("free", i), get())
			w.send(fmt.Sprint("volatile", i), ephemeral(time.Hour))
		}
		synctest.Wait()
		w.pass(10 * time.Second)
		for i := range 1200 {
			w.send(fmt.Sprint("volatile", i), get())
		}
		synctest.Wait()
		w.want(messages.Status_HELD, 1, "volatile7", get())
		if n := w.actors(); n != 1200 {
			w.Errorf("%d resources have an actor, want 1200", n)
		}
	})
}

// The break of an ephemeral lease is logged once, whether its answer waits for the journal or not.
func TestBreakOfAnEphemeralLeaseIsLogged(t *testing.T) {
	const line = `msg="lock broken" shard=3 resource=r owner=a token=1 reason=stuck`
	op := lease.Break{Request: &messages.BreakRequest{Token: 1, Reason: "stuck"}}
	t.Run("alone", func(t *testing.T) {
		inWorld(t, actors.Tuning{}, func(w *world) {
			w.want(messages.Status_GRANTED, 1, "r", ephemeral(time.Minute))
			w.want(messages.Status_RELEASED, 0, "r", op)
			w.wantLine(line)
		})
	})
	t.Run("before a persistent lease", func(t *testing.T) {
		inWorld(t, actors.Tuning{}, func(w *world) {
			w.want(messages.Status_GRANTED, 1, "r", ephemeral(time.Minute))
			w.send("r", waiting(time.Minute, time.Hour))
			w.want(messages.Status_RELEASED, 0, "r", op)
			w.wantLine(line)
		})
	})
}

// wantLine fails the test unless the log has a line that contains this once.
func (w *world) wantLine(line string) {
	w.Helper()
	synctest.Wait()
	if n := strings.Count(w.log.String(), line); n != 1 {
		w.Errorf("the log has %q %d times:\n%s", line, n, w.log)
	}
}
