package actors_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// shared is an acquire of a lease that others may hold beside.
func shared(owner string, limit, permits uint32, ttl time.Duration) lease.Acquire {
	a := acquire(owner, ttl)
	a.Request.Limit, a.Request.Permits = limit, permits
	return a
}

// inMemory makes an acquire one of an ephemeral lease.
func inMemory(a lease.Acquire) lease.Acquire {
	a.Request.Durability = messages.Durability_EPHEMERAL
	return a
}

// queued lets an acquire wait.
func queued(a lease.Acquire, wait time.Duration) lease.Acquire {
	a.Request.WaitMs = uint32(wait.Milliseconds())
	return a
}

func releaseToken(owner string, token uint64) lease.Release {
	r := release(owner)
	r.Request.Token = token
	return r
}

// wantHolders checks the owners of the leases of a resource.
func (w *world) wantHolders(resource string, owners ...string) {
	w.Helper()
	var got []string
	for _, l := range w.ask(resource, get()).GetHolders() {
		got = append(got, l.GetOwner())
	}
	if !slices.Equal(got, owners) {
		w.Errorf("%s is held by %v, want %v", resource, got, owners)
	}
}

// Readers that wait for one writer enter together, in one append, and those that come together do so too.
func TestReadersEnterInOneAppend(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		const readers = 60
		w.want(messages.Status_GRANTED, 1, "r", acquire("writer", time.Minute))
		var inboxes []string
		for i := range readers {
			inboxes = append(inboxes, w.send("r", queued(shared(fmt.Sprint("reader", i), 1000, 1, time.Minute),
				time.Minute)))
		}
		synctest.Wait()
		before := w.journal.Appends()
		letGo := w.hold()
		released := w.send("r", release("writer"))
		synctest.Wait()
		w.wantNone("before it was confirmed", append(inboxes, released)...)
		letGo(nil)
		for i, inbox := range inboxes {
			r := w.answer(inbox)
			w.check(r, messages.Status_GRANTED, uint64(i+2))
			if fence := messages.Token(2).String(); r.GetLease().GetFence() != fence || !slices.Equal(r.GetLease().GetSlots(), []uint32{uint32(i)}) {
				w.Errorf("reader %d has %v", i, r.GetLease())
			}
		}
		if n := w.journal.Appends() - before; n != 1 {
			w.Errorf("%d appends let the readers in", n)
		}

		letGo = w.hold()
		w.send("other", acquire("a", time.Minute))
		synctest.Wait()
		before = w.journal.Appends()
		inboxes = nil
		for i := range readers {
			inboxes = append(inboxes, w.send("s", shared(fmt.Sprint("reader", i), 1000, 1, time.Minute)))
		}
		synctest.Wait()
		letGo(nil)
		for i, inbox := range inboxes {
			w.check(w.answer(inbox), messages.Status_GRANTED, uint64(i+1))
		}
		if n := w.journal.Appends() - before; n != 1 {
			w.Errorf("%d appends for readers that came together", n)
		}
	})
}

// All leases of a resource end at their time in one append, which lets the next one in; after a change of owner too.
func TestManyLeasesEndInOneAppend(t *testing.T) {
	for name, reopened := range map[string]bool{"at the owner": false, "at the next owner": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, actors.Tuning{}, func(w *world) {
				for i := range 1000 {
					w.want(messages.Status_GRANTED, uint64(i+1), "r",
						shared(fmt.Sprint("reader", i), 2000, 1, time.Minute))
				}
				w.want(messages.Status_OVERLOADED, 0, "r", shared("one too many", 2000, 1, time.Minute))
				if reopened {
					w.pass(30 * time.Second)
					w.reopen()
				}
				writer := w.send("r", queued(acquire("writer", time.Hour), time.Hour))
				w.pass(time.Minute - 1)
				before := w.journal.Appends()
				if r := w.ask("r", get()); r.GetHeld() != 1000 || r.GetWaiting() != 1 {
					w.Errorf("before their time %d are held and %d wait", r.GetHeld(), r.GetWaiting())
				}
				w.pass(1)
				w.check(w.answer(writer), messages.Status_GRANTED, 1001)
				if n := w.journal.Appends() - before; n != 2 {
					w.Errorf("%d appends, want one for the get and one for all the rest", n)
				}
				w.want(messages.Status_EXPIRED, 0, "r", releaseToken("reader7", 8))
			})
		})
	}
}

// A resource that panics has its persistent leases afterwards, each to its time; the ephemeral ones beside them have
// ended.
func TestPanicOfASharedResource(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", inMemory(shared("e1", 9, 1, time.Hour)))
		w.want(messages.Status_GRANTED, 2, "r", shared("p1", 9, 2, time.Minute))
		w.want(messages.Status_GRANTED, 3, "r", inMemory(shared("e2", 9, 1, time.Hour)))
		w.want(messages.Status_GRANTED, 4, "r", shared("p2", 9, 1, time.Hour))
		w.want(messages.Status_GRANTED, 5, "r", inMemory(shared("e3", 9, 1, time.Hour)))
		w.pass(20 * time.Second)
		lost := w.send("r", queued(acquire("writer", time.Minute), time.Minute))
		synctest.Wait()
		w.clock.panicAfter(0)
		w.send("r", get())
		synctest.Wait()
		w.wantHolders("r", "p1", "p2")
		w.wantNone("after the panic of its resource", lost)
		for owner, token := range map[string]uint64{"e1": 1, "e2": 3, "e3": 5} {
			w.want(messages.Status_EXPIRED, 0, "r", releaseToken(owner, token))
		}
		r := w.ask("r", shared("p3", 9, 2, time.Hour))
		if l := r.GetLease(); l.GetToken() <= 5 || l.GetFence() != messages.Token(1).String() ||
			!slices.Equal(l.GetSlots(), []uint32{0, 3}) {
			w.Errorf("the next lease is %v, want the fence of its phase and the free slots", l)
		}
		w.pass(40*time.Second - 1)
		w.wantHolders("r", "p1", "p2", "p3")
		w.pass(1)
		w.wantHolders("r", "p2", "p3")
	})
}

// A resource that several hold needs no actor, unless one of the leases is ephemeral, and loses nothing with it.
func TestIdleSharedResource(t *testing.T) {
	inWorld(t, actors.Tuning{IdleAfter: time.Second}, func(w *world) {
		for i := range 3 {
			w.want(messages.Status_GRANTED, uint64(i+1), "r",
				shared(fmt.Sprint("a", i), 9, 1, time.Duration(10+10*i)*time.Second))
			w.want(messages.Status_GRANTED, uint64(i+1), "kept", shared(fmt.Sprint("a", i), 9, 1, time.Hour))
		}
		w.want(messages.Status_GRANTED, 4, "kept", inMemory(shared("e", 9, 1, time.Hour)))
		w.want(messages.Status_GRANTED, 5, "kept", shared("a4", 9, 1, time.Hour))
		w.pass(5 * time.Second)
		if n := w.actors(); n != 1 {
			w.Errorf("%d resources have an actor, want 1", n)
		}
		w.pass(5*time.Second - 1)
		w.wantHolders("r", "a0", "a1", "a2")
		w.pass(5 * time.Second)
		w.wantHolders("r", "a1", "a2")
		w.want(messages.Status_EXPIRED, 0, "r", releaseToken("a0", 1)) // it is remembered without an actor
		w.want(messages.Status_RELEASED, 0, "r", releaseToken("a1", 2))
		w.pass(5 * time.Second)
		w.want(messages.Status_RELEASED, 0, "r", releaseToken("a1", 2))
		w.wantHolders("r", "a2")
		w.wantHolders("kept", "a0", "a1", "a2", "e", "a4")
	})
}

// A quota counts leases, not resources.
func TestQuotaCountsLeases(t *testing.T) {
	inClosedWorld(t, actors.Tuning{}, func(w *world) {
		w.quota = new(actors.Quota)
		w.open()
		check := func(held, waiting int64) {
			w.Helper()
			synctest.Wait()
			if w.quota.Held() != held || w.quota.Waiting() != waiting {
				w.Errorf("%d are held and %d wait, want %d and %d", w.quota.Held(), w.quota.Waiting(), held, waiting)
			}
		}
		for i := range 3 {
			w.ask("r", shared("p", 9, 2, time.Duration(i+1)*time.Minute))
			w.ask("s", shared("p", 9, 1, time.Hour))
		}
		w.ask("s", inMemory(shared("e1", 9, 1, time.Hour)))
		w.ask("s", inMemory(shared("e2", 9, 1, time.Hour)))
		check(8, 0)
		w.send("r", queued(acquire("writer", time.Minute), time.Hour))
		check(8, 1)
		w.ask("s", release("e1"))
		check(7, 1)
		w.ask("s", releaseToken("p", 2))
		check(6, 1)
		w.pass(time.Minute)
		check(5, 1)
		w.want(messages.Status_EXTENDED, 1, "s", lease.Extend{
			Request: &messages.ExtendRequest{Owner: "p", Token: 1, TtlMs: 60_000}})
		check(5, 1)
		w.reopen()
		check(4, 0) // the ephemeral lease and the queue went
		w.pass(time.Hour)
		check(0, 0)
		w.ask("r", acquire("p", time.Hour))
		w.ask("s", inMemory(acquire("e", time.Hour)))
		check(2, 0)
		w.close()
		check(0, 0)
	})
}

// What a tenant holds and waits for is counted for it, too, and again by a term that begins.
func TestQuotaOfTenants(t *testing.T) {
	inClosedWorld(t, actors.Tuning{IdleAfter: time.Second}, func(w *world) {
		w.quota = new(actors.Quota)
		w.open()
		a, b := messages.Qualify("A", "r"), messages.Qualify("B", "r")
		check := func(heldA, waitingA, heldB, waitingB int64) {
			w.Helper()
			synctest.Wait()
			for tenant, want := range map[string][3]int64{"A": {heldA, waitingA}, "B": {heldB, waitingB}} {
				if q := w.quota.Tenant(tenant); [3]int64{q.Held(), q.Waiting(), q.Pending()} != want {
					w.Errorf("%s: %d are held, %d wait and %d are pending, want %v", tenant, q.Held(), q.Waiting(),
						q.Pending(), want)
				}
			}
		}
		for i := range 3 {
			w.ask(a, shared("p", 9, 1, time.Duration(i+1)*time.Minute))
		}
		w.ask(b, inMemory(shared("e", 9, 1, time.Hour)))
		w.ask("r", acquire("none", time.Hour))
		check(3, 0, 1, 0)
		w.send(a, queued(acquire("w", time.Minute), time.Hour))
		w.send(b, queued(acquire("w", time.Minute), time.Hour))
		w.send(b, queued(acquire("w2", time.Minute), time.Hour))
		check(3, 1, 1, 2)
		w.pass(2 * time.Minute)
		check(1, 1, 1, 2)
		w.ask(b, release("e"))
		check(1, 1, 1, 1)
		if q := w.quota; q.Held() != 3 || q.Waiting() != 2 {
			w.Errorf("of all, %d are held and %d wait, want 3 and 2", q.Held(), q.Waiting())
		}
		w.reopen()
		check(1, 0, 1, 0)
		w.pass(time.Hour)
		check(0, 0, 0, 0)
	})
}

// list lists everything with its queues.
func (w *world) list() actors.Listed {
	w.Helper()
	pattern, _ := messages.ParsePattern("")
	found, err := w.shard.List(w.Context(), actors.Listing{Pattern: pattern, Limit: 1000, Bytes: 1 << 20,
		Waiters: true})
	if err != nil {
		w.Fatal(err)
	}
	return found
}

func TestListingShowsTheQueues(t *testing.T) {
	inWorld(t, actors.Tuning{IdleAfter: time.Second, MaxWaiting: 1000}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", shared("a", 5, 2, time.Hour))
		w.want(messages.Status_GRANTED, 2, "r", shared("b", 5, 2, time.Hour))
		w.want(messages.Status_GRANTED, 1, "idle", acquire("a", time.Hour))
		w.want(messages.Status_GRANTED, 1, "full", inMemory(acquire("a", time.Hour)))
		w.send("r", queued(shared("first", 5, 3, time.Minute), time.Minute))
		w.pass(10 * time.Second) // until the idle one has no actor
		w.send("r", queued(acquire("second", time.Minute), time.Minute))
		for i := range 100 {
			w.send("full", queued(acquire(fmt.Sprint("w", i), time.Minute), time.Minute))
		}
		synctest.Wait()
		found := w.list()
		if len(found.Leases) != 4 || len(found.Queues) != 2 {
			w.Fatalf("%d leases and %d queues are listed", len(found.Leases), len(found.Queues))
		}
		for _, q := range found.Queues {
			switch q.GetResource() {
			case "r":
				want := []string{
					(&messages.Waiter{Owner: "first", Limit: 5, Permits: 3, WaitingMs: 10_000,
						LeftMs: 50_000}).String(),
					(&messages.Waiter{Owner: "second", Permits: 1, LeftMs: 60_000}).String(),
				}
				for i, waiter := range q.GetWaiters() {
					if waiter.String() != want[i] {
						w.Errorf("waiter %d is %v, want %v", i, waiter, want[i])
					}
				}
			case "full":
				if n := len(q.GetWaiters()); n != 100 || q.GetWaiters()[99].GetOwner() != "w99" {
					w.Errorf("%d are listed of 100 that wait", n)
				}
			default:
				w.Errorf("a queue of %s is listed", q.GetResource())
			}
		}
		if n := w.actors(); n != 2 {
			w.Errorf("after a listing %d resources have an actor, want 2", n)
		}
		w.clock.panicAfter(0) // its queue is gone
		w.send("r", get())
		synctest.Wait()
		if found = w.list(); len(found.Queues) != 1 || found.Queues[0].GetResource() != "full" {
			w.Errorf("after a panic the queues are %v", found.Queues)
		}
		w.ask("full", release("a")) // a shard that asks its own queues sees them change
		if found = w.list(); len(found.Queues) != 1 || found.Queues[0].GetWaiters()[0].GetOwner() != "w1" {
			w.Errorf("after a grant the queues are %v", found.Queues)
		}
	})
}
