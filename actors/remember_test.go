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

// lock acquires and releases a resource, and returns its token.
func (w *world) lock(resource string) uint64 {
	w.Helper()
	r := w.ask(resource, acquire("a", time.Minute))
	w.check(r, messages.Status_GRANTED, 0)
	w.want(messages.Status_RELEASED, 0, resource, release("a"))
	return r.GetLease().GetToken()
}

// remembered returns the entries of the pages that are stored.
func (w *world) remembered() (all []*journal.Entry) {
	w.Helper()
	synctest.Wait()
	for _, r := range w.journal.Records() {
		all = append(all, r.GetPage().GetEntries()...)
	}
	return all
}

// However many names come by, the bucket has no more than the limit and an eighth, though all are of the
// same time; and a name that was forgotten goes on above its last token.
func TestRememberedNamesAreBounded(t *testing.T) {
	const limit = 200
	tuning := actors.Tuning{MaxRemembered: limit, IdleAfter: 10 * time.Millisecond, History: 1}
	inWorld(t, tuning, func(w *world) {
		tokens := map[string]uint64{}
		for i := range 10 * limit {
			resource := fmt.Sprint("r", i)
			for range 1 + i%3 {
				tokens[resource] = w.lock(resource)
			}
			if i%50 == 49 {
				w.pass(time.Second) // their actors go; what is in use is not forgotten
			}
		}
		if n := len(w.remembered()); n > limit+limit/8+50 || n < limit/2 {
			w.Errorf("%d names are remembered, want %d at most, and not much less", n, limit)
		}
		w.reopen()
		for resource, token := range tokens {
			if again := w.lock(resource); again <= token {
				w.Fatalf("%s: token %d comes behind %d", resource, again, token)
			}
		}
	})
}

// What is forgotten by the clock needs no requests for it.
func TestForgottenByTheClock(t *testing.T) {
	inWorld(t, actors.Tuning{Remember: time.Hour, History: 1}, func(w *world) {
		token := uint64(0)
		for range 5 {
			token = w.lock("old")
		}
		w.want(messages.Status_GRANTED, 1, "held", acquire("a", 24*time.Hour))
		w.pass(time.Hour / 2)
		w.lock("young")
		if n := len(w.remembered()); n != 0 {
			w.Fatalf("%d names are stored in pages: the test is vacuous", n)
		}
		w.pass(time.Hour/2 + time.Hour/8 + time.Minute)
		names := map[string]bool{}
		for _, e := range w.remembered() {
			names[e.GetGrant().GetResource()] = true
		}
		if names["old"] || !names["young"] || !names["held"] {
			w.Errorf("remembered are %v", names)
		}
		if r := w.ask("old", get()); r.GetStatus() != messages.Status_FREE || r.GetLease() != nil {
			w.Errorf("got %v, want FREE without a lease", r)
		}
		w.reopen()
		w.want(messages.Status_GRANTED, token+1, "old", acquire("a", time.Minute))

		w.pass(2 * time.Hour)
		last := w.journal.Last()
		w.pass(1000 * time.Hour)
		if n := w.journal.Last() - last; n > 3 { // the end of a lease, its watermark, and one page
			w.Errorf("%d records were written while nothing happened", n)
		}
	})
}

// A free name is forgotten when its owner has known it to be unused for the whole time, whatever the wall clocks say.
func TestForgottenByTheOwnersClock(t *testing.T) {
	for _, ahead := range []time.Duration{-1000 * time.Hour, time.Hour, 1000 * time.Hour} {
		inWorld(t, actors.Tuning{Remember: time.Hour, History: 1, IdleAfter: time.Second}, func(w *world) {
			w.lock("recorded")
			w.clock.ahead.Add(ahead.Milliseconds())
			w.reopen()
			w.lock("own")
			w.clock.ahead.Add(ahead.Milliseconds())
			wantKnown := func(known bool) {
				w.Helper()
				for _, resource := range []string{"recorded", "own"} {
					if r := w.ask(resource, get()); (r.GetLease() != nil) != known {
						w.Errorf("%v ahead: %s is known: %v, want %v", ahead, resource, !known, known)
					}
				}
			}
			w.pass(time.Hour - time.Minute)
			wantKnown(true)
			w.pass(time.Minute + time.Hour/8 + time.Minute)
			wantKnown(false)
		})
	}
}

// A resource that is free keeps what the next token and a repeated release need, and nothing else.
func TestFreeResourcesShrink(t *testing.T) {
	const big = 1000
	inWorld(t, actors.Tuning{CompactCommits: 40, History: 1, IdleAfter: time.Second}, func(w *world) {
		for i := range 3 {
			a := acquire("owner-of-it", 5*time.Second)
			a.Request.Metadata = map[string]string{"m": strings.Repeat("x", big)}
			w.want(messages.Status_GRANTED, 1, fmt.Sprint("r", i), a)
		}
		w.want(messages.Status_RELEASED, 0, "r0", release("owner-of-it"))
		w.want(messages.Status_RELEASED, 0, "r1", lease.Break{Request: &messages.BreakRequest{Token: 1}})
		w.pass(2 * time.Minute)
		for range 100 {
			w.lock("other")
		}
		check := func() {
			w.Helper()
			for i, want := range []messages.Status{messages.Status_RELEASED, messages.Status_EXPIRED,
				messages.Status_EXPIRED} {
				resource := fmt.Sprint("r", i)
				w.want(want, 0, resource, release("owner-of-it"))
				w.want(messages.Status_NOT_HELD, 0, resource, release("another"))
				w.want(messages.Status_FREE, 1, resource, get())
			}
		}
		check()
		size := 0
		for _, e := range w.remembered() {
			size += len(e.GetGrant().GetMetadata()["m"])
		}
		if size > 0 {
			w.Errorf("%d bytes of metadata are stored of free resources", size)
		}
		w.reopen()
		check()
		w.want(messages.Status_GRANTED, 2, "r0", acquire("a", time.Minute))
	})
}

// A journal that grows under one owner after the other is compacted as under one.
func TestTakeoversDoNotPutCompactionOff(t *testing.T) {
	tuning := actors.Tuning{CompactBytes: 20_000, History: 1}
	inWorld(t, tuning, func(w *world) {
		for range 20 {
			for range 20 { // 40 changes of some 100 bytes
				w.lock("r" + strings.Repeat("x", 100))
			}
			w.reopen()
		}
		if n := len(w.journal.Records()); n > 200 {
			w.Errorf("%d records are left of 1 000", n)
		}
	})
}

// A listing of many is answered in pieces, and in full.
func TestListingOfMany(t *testing.T) {
	const held, free = 4000, 1000
	everything, err := messages.ParsePattern("")
	must(t, err)
	inWorld(t, actors.Tuning{MaxPending: 1 << 20}, func(w *world) {
		for i := range held {
			w.send(fmt.Sprint("r", i), acquire("a", time.Hour))
		}
		synctest.Wait()
		for i := range free {
			w.send(fmt.Sprint("r", i), release("a"))
		}
		synctest.Wait()
		for _, limit := range []int{1 << 20, 100} {
			seen := map[string]bool{}
			after := messages.Cursor{}
			for more := true; more; {
				page, err := w.shard.List(w.Context(),
					actors.Listing{After: after, Limit: limit, Bytes: 1 << 30, Pattern: everything})
				must(w.T, err)
				if len(page.Leases) > limit {
					w.Fatalf("%d leases, want %d at most", len(page.Leases), limit)
				}
				for _, l := range page.Leases {
					if seen[l.GetResource()] {
						w.Fatalf("%s is listed twice", l.GetResource())
					}
					seen[l.GetResource()], after.Resource = true, l.GetResource()
				}
				more = page.More
			}
			if len(seen) != held-free {
				w.Errorf("limit %d: %d leases are listed, want %d", limit, len(seen), held-free)
			}
		}
	})
}
