package actors_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// press is a publisher that keeps everything.
type press struct {
	mu     sync.Mutex
	events []*messages.Event
	refuse error
	gate   chan struct{} // if not nil, publishing waits until it is closed
	busy   bool
	// stubborn: it waits for the gate whatever its context says.
	stubborn bool
	// unwanted is a resource whose events nobody receives.
	unwanted string
}

func (p *press) Wants(resource string) bool { return resource != p.unwanted }

func (p *press) Publish(ctx context.Context, events []*messages.Event) error {
	wait, refuse := p.enter(ctx)
	if err := wait(); err != nil {
		refuse = err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy = false
	if refuse == nil {
		p.events = append(p.events, events...)
	}
	return refuse
}

// enter makes sure that one batch is under way at a time.
func (p *press) enter(ctx context.Context) (wait func() error, refuse error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy {
		panic("two batches of one shard are under way")
	}
	p.busy = true
	if p.stubborn {
		ctx = context.WithoutCancel(ctx)
	}
	gate := p.gate
	return func() error {
		if gate == nil {
			return nil
		}
		select {
		case <-gate:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}, p.refuse
}

func (p *press) refuseWith(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = err
}

// hold lets publishing wait until the returned function is called.
func (p *press) hold() (letGo func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	gate := make(chan struct{})
	p.gate = gate
	return func() { close(gate) }
}

// take returns what was published since it was called last.
func (p *press) take() []*messages.Event {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	events := p.events
	p.events = nil
	return events
}

var errPress = errors.New("ordered by the test")

// inWatchedWorld runs test with a shard that is open and publishes its events.
func inWatchedWorld(t *testing.T, tuning actors.Tuning, test func(w *world, p *press)) {
	t.Helper()
	inClosedWorld(t, tuning, func(w *world) {
		p := &press{}
		w.publisher = p
		w.open()
		test(w, p)
	})
}

// committed is what the journal's commits say should have been published.
func (w *world) committed() []*messages.Event {
	w.Helper()
	var all []*messages.Event
	_, err := w.journal.Replay(w.Context(), 0, func(position uint64, r *journal.Record) error {
		all = append(all, journal.Events(3, position, r.GetCommit())...)
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// wantEvents compares by the events' ids.
func (w *world) wantEvents(got, want []*messages.Event) {
	w.Helper()
	ids := func(events []*messages.Event) string {
		var b strings.Builder
		for _, e := range events {
			fmt.Fprintf(&b, "%s %s %s\n", e.ID(), e.GetKind(), e.GetLease().GetResource())
		}
		return b.String()
	}
	if ids(got) != ids(want) {
		w.Fatalf("got\n%swant\n%s", ids(got), ids(want))
	}
}

// recorded returns the watermark of the last commit, and its number.
func (w *world) recorded() (published, number uint64) {
	w.Helper()
	for _, r := range w.journal.Records() {
		if c := r.GetCommit(); c != nil {
			published, number = c.GetPublished(), c.GetNumber()
		}
	}
	return published, number
}

func (w *world) lockAndUnlock(resource string) {
	w.Helper()
	w.want(messages.Status_GRANTED, 0, resource, acquire("a", time.Hour))
	w.want(messages.Status_RELEASED, 0, resource, release("a"))
}

func TestEventsFollowTheirCommit(t *testing.T) {
	inWatchedWorld(t, actors.Tuning{}, func(w *world, p *press) {
		letGo := w.hold()
		inbox := w.send("x", acquire("a", time.Minute))
		if got := p.take(); len(got) != 0 {
			t.Fatalf("published before the commit: %v", got)
		}
		letGo(nil)
		w.check(w.answer(inbox), messages.Status_GRANTED, 1)
		got := p.take()
		w.wantEvents(got, w.committed())
		if len(got) != 1 || got[0].GetKind() != messages.Event_ACQUIRED ||
			got[0].GetLease().GetRemainingMs() != 60_000 {
			t.Fatalf("got %v", got)
		}
		w.want(messages.Status_HELD, 1, "x", get())
		w.pass(time.Minute)
		if got := p.take(); len(got) != 1 || got[0].GetKind() != messages.Event_EXPIRED ||
			got[0].GetLease().GetRemainingMs() != 0 {
			t.Fatalf("got %v", got)
		}
	})
}

// Events that nobody receives are not published, and count as published.
func TestEventsThatNobodyReceives(t *testing.T) {
	inClosedWorld(t, actors.Tuning{}, func(w *world) {
		p := &press{unwanted: "x"}
		w.publisher = p
		w.open()
		w.lockAndUnlock("x")
		w.lockAndUnlock("y")
		w.lockAndUnlock("x")
		w.wantEvents(p.take(), slices.DeleteFunc(w.committed(), func(e *messages.Event) bool {
			return e.GetLease().GetResource() == "x"
		}))
		if c := w.shard.Events(); c.Published != 6 || c.Behind != 0 {
			t.Errorf("%+v, want all 6 published", c)
		}
	})
}

// What was not stored is no event; of what may have been stored, the journal decides.
func TestNoEventWithoutACommit(t *testing.T) {
	for name, outcome := range map[string]error{
		"certainly not stored": fmt.Errorf("%w: by the test", journal.ErrNotStored),
		"unknown":              fmt.Errorf("%w: by the test", journal.ErrUnknown),
	} {
		t.Run(name, func(t *testing.T) {
			inWatchedWorld(t, actors.Tuning{}, func(w *world, p *press) {
				letGo := w.hold()
				w.send("x", acquire("a", time.Minute))
				letGo(outcome)
				w.pass(time.Minute) // it is open again
				if got := p.take(); len(got) != 0 {
					t.Fatalf("published %v", got)
				}
			})
		})
	}
	t.Run("stored without an acknowledgement", func(t *testing.T) {
		inWatchedWorld(t, actors.Tuning{}, func(w *world, p *press) {
			w.journal.After(func(context.Context, *journal.Record) error { return journal.ErrUnknown })
			w.send("x", acquire("a", time.Hour))
			synctest.Wait()
			w.journal.After(nil)
			if got := p.take(); len(got) != 0 {
				t.Fatalf("published before anybody knew: %v", got)
			}
			w.pass(time.Minute)
			got := p.take()
			w.wantEvents(got, w.committed())
			if len(got) != 1 {
				t.Fatalf("%d events", len(got))
			}
		})
	})
}

// Every commit says how far events were published; when none comes, an empty one does, once.
func TestWatermarkIsRecorded(t *testing.T) {
	inWatchedWorld(t, actors.Tuning{}, func(w *world, _ *press) {
		w.lockAndUnlock("x")
		if published, number := w.recorded(); published != number-1 {
			t.Errorf("commit %d says that %d was published", number, published)
		}
		before := w.journal.Appends()
		w.pass(time.Hour)
		if n := w.journal.Appends() - before; n != 1 {
			t.Errorf("%d appends in an idle hour, want 1", n)
		}
		if published, number := w.recorded(); published != number-1 {
			t.Errorf("commit %d says that %d was published", number, published)
		}
		w.want(messages.Status_FREE, 0, "x", get())
		before = w.journal.Appends()
		w.pass(time.Hour)
		if n := w.journal.Appends() - before; n != 0 {
			t.Errorf("%d appends in an hour after a read, want none", n)
		}
	})
}

func TestCleanStopLeavesNothingToPublish(t *testing.T) {
	inWatchedWorld(t, actors.Tuning{}, func(w *world, p *press) {
		for range 10 {
			w.lockAndUnlock("x")
		}
		w.wantEvents(p.take(), w.committed())
		w.reopen()
		if got := p.take(); len(got) != 0 {
			t.Errorf("published again: %v", got)
		}
		w.lockAndUnlock("x")
		if got := p.take(); len(got) != 2 {
			t.Errorf("published %v", got)
		}
	})
}

// What a process leaves unpublished the next one publishes.
func TestOwedEventsArePublished(t *testing.T) {
	inWatchedWorld(t, actors.Tuning{}, func(w *world, p *press) {
		w.lockAndUnlock("x")
		published := p.take()
		w.wantEvents(published, w.committed())
		p.refuseWith(errPress)
		w.lockAndUnlock("y")
		w.close()
		p.refuseWith(nil)
		w.open()
		w.wantEvents(p.take(), w.committed()[len(published):])
		w.lockAndUnlock("z")
		if got := p.take(); len(got) != 2 {
			t.Errorf("published %v", got)
		}
	})
}

// What a process has published without recording it, the next one publishes again, under the same id.
func TestUnrecordedEventsArePublishedAgain(t *testing.T) {
	inWatchedWorld(t, actors.Tuning{}, func(w *world, p *press) {
		w.lockAndUnlock("x")
		w.wantEvents(p.take(), w.committed())
		w.journal.Before(func(context.Context, *journal.Record) error { return journal.ErrNotStored })
		w.close()
		w.journal.Before(nil)
		w.open()
		w.wantEvents(p.take(), w.committed()[1:])
		w.lockAndUnlock("z")
		if got := p.take(); len(got) != 2 {
			t.Errorf("published %v", got)
		}
	})
}

func TestPublishingGoesOnAfterTrouble(t *testing.T) {
	inWatchedWorld(t, actors.Tuning{}, func(w *world, p *press) {
		p.refuseWith(errPress)
		for range 5 {
			w.lockAndUnlock("x")
		}
		w.pass(10 * time.Second)
		if c := w.shard.Events(); c.Published != 0 || c.Behind < 10 {
			t.Errorf("counted %+v", c)
		}
		p.refuseWith(nil)
		w.pass(2 * time.Second)
		w.wantEvents(p.take(), w.committed())
		if c := w.shard.Events(); c.Published != 10 || c.Behind != 0 || c.Lost != 0 {
			t.Errorf("counted %+v", c)
		}
		for _, line := range []string{"cannot publish events", "events are published again"} {
			if n := strings.Count(w.log.String(), line); n != 1 {
				t.Errorf("logged %d times: %s", n, line)
			}
		}
	})
}

// No request waits for what is published, and what memory has no room for is read from the journal.
func TestEventsThatHadNoRoom(t *testing.T) {
	inWatchedWorld(t, actors.Tuning{}, func(w *world, p *press) {
		letGo := p.hold()
		for i := range 700 {
			w.lockAndUnlock(fmt.Sprint("r", i%7))
		}
		if got := p.take(); len(got) != 0 {
			t.Fatalf("published %v", got)
		}
		letGo()
		w.wantEvents(p.take(), w.committed())
		w.lockAndUnlock("x")
		if got := p.take(); len(got) != 2 {
			t.Errorf("published %v", got)
		}
	})
}

func TestCompactionKeepsWhatIsOwed(t *testing.T) {
	inWatchedWorld(t, actors.Tuning{CompactCommits: 100, History: 1}, func(w *world, p *press) {
		letGo := p.hold()
		for range 250 {
			w.lockAndUnlock("x")
		}
		all := w.committed()
		if len(all) != 500 {
			t.Fatalf("the journal has %d of 500 events", len(all))
		}
		letGo()
		w.wantEvents(p.take(), all)
		for range 100 {
			w.lockAndUnlock("x")
		}
		if got := len(w.committed()); got > 400 {
			t.Errorf("the journal still has %d events", got)
		}
		if c := w.shard.Events(); c.Published != 700 || c.Lost != 0 {
			t.Errorf("counted %+v", c)
		}
	})
}

// Beyond its bound the journal grows no more for the sake of events, and says what that has cost.
func TestEventsThatWaitForTooLong(t *testing.T) {
	inWatchedWorld(t, actors.Tuning{CompactCommits: 100, History: 1, Backlog: 10_000}, func(w *world, p *press) {
		p.refuseWith(errPress)
		for range 900 { // more than memory has room for
			w.lockAndUnlock("x")
		}
		owed := w.committed()
		if len(owed) > 400 {
			t.Errorf("the journal has %d events", len(owed))
		}
		p.refuseWith(nil)
		w.pass(time.Minute)
		got := p.take()
		if len(got) == 0 || len(got) > 1799 || got[len(got)-1].ID() != owed[len(owed)-1].ID() {
			t.Errorf("published %d events", len(got))
		}
		if c := w.shard.Events(); c.Lost == 0 || int(c.Lost)+len(got) != 1800 || c.Behind != 0 {
			t.Errorf("counted %+v, published %d", c, len(got))
		}
		if !strings.Contains(w.log.String(), "events lost") {
			t.Error("it is not logged")
		}
	})
}

// A node that publishes no events owes none to a later one that does.
func TestNothingIsOwedFromATimeWithoutEvents(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		w.lockAndUnlock("x")
		w.close()
		p := &press{}
		w.publisher = p
		w.open()
		w.pass(time.Minute)
		if got := p.take(); len(got) != 0 {
			t.Errorf("published %v", got)
		}
		w.lockAndUnlock("x")
		if got := p.take(); len(got) != 2 {
			t.Errorf("published %v", got)
		}
	})
}

// What has room again does not overtake what had none.
func TestEventsBehindThoseThatHadNoRoom(t *testing.T) {
	inWatchedWorld(t, actors.Tuning{}, func(w *world, p *press) {
		letGo := p.hold()
		for i := range 700 {
			w.lockAndUnlock(fmt.Sprint("r", i%7))
		}
		again := p.hold()
		letGo()
		synctest.Wait()
		for range 20 {
			w.lockAndUnlock("late")
		}
		again()
		w.wantEvents(p.take(), w.committed())
	})
}

// What is committed while the shard closes is published too, so nothing is committed behind that.
func TestClosingEndsNoLease(t *testing.T) {
	inWatchedWorld(t, actors.Tuning{}, func(w *world, p *press) {
		letGo := p.hold()
		w.want(messages.Status_GRANTED, 1, "x", acquire("a", time.Second))
		closed := make(chan error, 1)
		shard := w.shard
		go func() { closed <- shard.Close(w.Context()) }()
		w.pass(time.Minute)
		letGo()
		if err := <-closed; err != nil {
			t.Error(err)
		}
		w.shard = nil
		w.wantEvents(p.take(), w.committed())
	})
}

// A predecessor within the process has ended before its successor begins, so the order stays.
func TestEventsOutliveThePanicOfAShard(t *testing.T) {
	inWatchedWorld(t, actors.Tuning{}, func(w *world, p *press) {
		p.stubborn = true
		letGo := p.hold()
		w.lockAndUnlock("x")
		w.answers.before = func(lease.Answer) {
			w.answers.before = nil
			panic("ordered by the test")
		}
		w.send("y", get())
		w.pass(time.Minute)
		letGo()
		w.lockAndUnlock("z")
		want := w.committed()
		if len(want) != 4 {
			t.Fatalf("%d events are committed", len(want))
		}
		w.wantEvents(p.take(), append(want[:1:1], want...)) // the one under way was not recorded
	})
}

// A panic of the publisher ends neither the process nor the term, and the next term publishes what is owed.
func TestPanicOfThePublisher(t *testing.T) {
	inClosedWorld(t, actors.Tuning{}, func(w *world) {
		p := &press{busy: true} // it panics
		w.publisher = p
		w.open()
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Hour))
		w.want(messages.Status_HELD, 1, "r", acquire("b", time.Hour))
		if !strings.Contains(w.log.String(), "two batches") {
			t.Error("nothing panicked: the test is vacuous")
		}
		p.mu.Lock()
		p.busy = false
		p.mu.Unlock()
		w.reopen()
		w.pass(time.Second)
		if events := p.take(); len(events) != 1 || events[0].GetKind() != messages.Event_ACQUIRED {
			t.Errorf("got %v, want the grant", events)
		}
	})
}
