package actors_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// bundle is requests that go to the shard together, and the inboxes of their answers.
type bundle struct {
	requests []actors.Request
	inboxes  []string
}

func (b *bundle) add(w *world, resource string, e lease.Event) {
	w.Helper()
	e, inbox := w.addressed(e, true)
	b.requests = append(b.requests, actors.Request{Resource: resource, Event: e})
	b.inboxes = append(b.inboxes, inbox)
}

// gets adds gets of as many resources.
func (b *bundle) gets(w *world, n int) {
	w.Helper()
	for i := range n {
		b.add(w, fmt.Sprint("get", i), get())
	}
}

// send sends the bundle, of which the shard has to take this number.
func (b *bundle) send(w *world, want int, wantErr error) {
	w.Helper()
	if taken, err := w.shard.SendAll(b.requests); taken != want || !errors.Is(err, wantErr) {
		w.Fatalf("of %d requests %d were taken (%v), want %d (%v)", len(b.inboxes), taken, err, want, wantErr)
	}
}

func TestBundleIsOneAppendAndOneCallOfTheOutbox(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		const n = 500
		letGo := w.hold()
		w.send("first", acquire("a", time.Minute))
		synctest.Wait()
		before := w.journal.Appends()
		var b bundle
		for i := range n {
			b.add(w, fmt.Sprint("r", i), acquire("a", time.Minute))
		}
		b.send(w, n, nil)
		synctest.Wait()
		letGo(nil)
		for _, inbox := range b.inboxes {
			w.check(w.answer(inbox), messages.Status_GRANTED, 1)
		}
		if n := w.journal.Appends() - before; n != 1 {
			w.Errorf("a bundle took %d appends besides the one that it waited for", n)
		}
		if got := w.answers.calls(); !slices.Equal(got, []int{1, n}) {
			w.Errorf("the outbox was called with %v answers, want 1 and %d", got, n)
		}
	})
}

func TestBundleKeepsTheOrderOfAResource(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		steps := []struct {
			event lease.Event
			want  messages.Status
			token uint64
		}{
			{get(), messages.Status_FREE, 0},
			{acquire("a", time.Minute), messages.Status_GRANTED, 1},
			{acquire("b", time.Minute), messages.Status_HELD, 1},
			{extend("a", time.Hour), messages.Status_EXTENDED, 1},
			{release("a"), messages.Status_RELEASED, 0},
			{acquire("b", time.Minute), messages.Status_GRANTED, 2},
			{get(), messages.Status_HELD, 2},
		}
		var b bundle
		for _, s := range steps {
			for i := range 20 {
				b.add(w, fmt.Sprint("r", i), s.event)
			}
		}
		b.send(w, len(b.inboxes), nil)
		for i, inbox := range b.inboxes {
			s := steps[i/20]
			w.check(w.answer(inbox), s.want, s.token)
		}
	})
}

// A waiting request of a bundle does not keep the others from their answers.
func TestBundleWithAWaiter(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		var b bundle
		b.add(w, "r", acquire("a", time.Minute))
		b.add(w, "r", waiting(time.Minute, time.Hour))
		b.add(w, "r", get())
		b.send(w, 3, nil)
		w.check(w.answer(b.inboxes[0]), messages.Status_GRANTED, 1)
		w.check(w.answer(b.inboxes[2]), messages.Status_HELD, 1)
		w.wantNone("while it waits", b.inboxes[1])
		w.want(messages.Status_RELEASED, 0, "r", release("a"))
		w.check(w.answer(b.inboxes[1]), messages.Status_GRANTED, 2)
	})
}

// Of a bundle for which there is not enough room the shard takes the first requests, and the others do nothing.
func TestBundleBeyondTheRoom(t *testing.T) {
	inWorld(t, actors.Tuning{MaxPending: 10}, func(w *world) {
		for range 3 { // those that were answered make room, and those that were not taken need none
			letGo := w.hold()
			first := w.send("first", get())
			synctest.Wait()
			var b bundle
			for i := range 15 {
				b.add(w, fmt.Sprint("r", i), acquire("a", time.Minute))
			}
			b.send(w, 9, actors.ErrOverloaded)
			var none bundle
			none.gets(w, 2)
			none.send(w, 0, actors.ErrOverloaded)
			synctest.Wait()
			letGo(nil)
			w.check(w.answer(first), messages.Status_FREE, 0)
			for i, inbox := range b.inboxes {
				r := w.answer(inbox)
				if i >= 9 {
					if r != nil {
						w.Fatalf("request %d was not taken and got %v", i, r)
					}
					w.want(messages.Status_FREE, 0, fmt.Sprint("r", i), get())
					continue
				}
				w.check(r, messages.Status_GRANTED, 0)
				w.want(messages.Status_RELEASED, 0, fmt.Sprint("r", i), release("a"))
			}
		}
	})
}

func TestBundleForAShardThatHasEnded(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		shard := w.shard
		if err := shard.Close(w.Context()); err != nil {
			w.Fatal(err)
		}
		var b bundle
		b.gets(w, 3)
		b.send(w, 0, actors.ErrEnded)
	})
}

// The shard passes on what it gets while it is handed over, in its order.
func TestBundleInAHandOver(t *testing.T) {
	inClosedWorld(t, actors.Tuning{}, func(w *world) {
		w.passed = &passed{}
		w.open()
		letGo := w.hold()
		first := w.send("first", get())
		synctest.Wait()
		ended := make(chan error)
		go func() { ended <- w.shard.HandOver(w.Context()) }()
		synctest.Wait()
		var b bundle
		b.gets(w, 5)
		b.send(w, 5, nil)
		letGo(nil)
		if err := <-ended; err != nil {
			w.Fatal(err)
		}
		w.check(w.answer(first), messages.Status_FREE, 0)
		w.wantNone("and is passed on", b.inboxes...)
		if got := w.passed.inboxes(""); !slices.Equal(got, b.inboxes) {
			w.Errorf("passed on are %v, want %v", got, b.inboxes)
		}
	})
}

// A panic of a resource amid a bundle loses one request. The others wait until the resource has its state again, also
// when one of these panics in turn.
func TestPanicOfAResourceAmidABundle(t *testing.T) {
	inWorld(t, actors.Tuning{MaxPending: 5}, func(w *world) {
		for token := uint64(1); token <= 5; token++ { // none may stay counted as on its way
			var b bundle
			b.add(w, "r", get())
			b.add(w, "r", extend("a", time.Minute))
			b.add(w, "r", acquire("a", time.Minute))
			b.add(w, "other", get())
			b.add(w, "r", release("a"))
			letGo := w.hold()
			w.clock.panicAfter(0)
			b.send(w, len(b.inboxes), nil)
			synctest.Wait()
			w.clock.panicAfter(1) // the shard reads the clock first, when the commit is confirmed
			letGo(nil)
			synctest.Wait()
			if n := strings.Count(w.log.String(), "panic in a resource"); n != 2*int(token) {
				w.Fatalf("%d panics, want 2 for each of %d bundles", n, token)
			}
			w.wantNone("by a panic", b.inboxes[:2]...)
			w.check(w.answer(b.inboxes[2]), messages.Status_GRANTED, token)
			w.check(w.answer(b.inboxes[3]), messages.Status_FREE, 0)
			w.check(w.answer(b.inboxes[4]), messages.Status_RELEASED, 0)
		}
	})
}

// A panic of the shard amid a bundle loses the requests of the bundle, and counts all of them out.
func TestPanicOfTheShardAmidABundle(t *testing.T) {
	const room = 6
	inWorld(t, actors.Tuning{MaxPending: room}, func(w *world) {
		for range 5 {
			w.journal.Before(func(context.Context, *journal.Record) error { return journal.ErrNotStored })
			// from now on the shard itself refuses requests
			w.check(w.ask("lost", get()), messages.Status_UNAVAILABLE, 0)
			refused := 0
			w.answers.before = func(lease.Answer) {
				if refused++; refused == 3 {
					w.answers.before = nil
					panic("ordered by the test")
				}
			}
			var b bundle
			b.gets(w, room-1)
			b.send(w, room-1, nil)
			synctest.Wait()
			if refused != 3 {
				w.Fatalf("%d requests were refused before the panic, want 2 and one that panics", refused)
			}
			w.journal.Before(nil)
			w.pass(2 * time.Second)
			var whole bundle
			whole.gets(w, room)
			whole.send(w, room, nil)
			for _, inbox := range whole.inboxes {
				w.check(w.answer(inbox), messages.Status_FREE, 0)
			}
		}
	})
}
