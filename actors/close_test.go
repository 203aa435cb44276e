package actors_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// closeFor closes the journal for another generation.
func (w *world) closeFor(generation uint32) {
	w.Helper()
	must(w.T, w.shard.CloseJournal(w.Context(), messages.Shards{Generation: generation, Count: 4}))
	w.wantEnded()
}

// last returns the last commit of the journal.
func (w *world) last() *journal.Commit {
	records := w.journal.Records()
	return records[len(records)-1].GetCommit()
}

// A journal is closed behind all decisions and all events, and requests that were not decided are passed on.
func TestCloseJournal(t *testing.T) {
	inClosedWorld(t, actors.Tuning{}, func(w *world) {
		p := &press{}
		w.publisher, w.passed = p, &passed{}
		w.open()
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Minute))
		waiter := w.send("r", waiting(time.Minute, time.Minute))
		letGo := p.hold()
		inflight := w.send("s", acquire("a", time.Minute))
		done := make(chan error, 1)
		go func() { done <- w.shard.CloseJournal(w.Context(), messages.Shards{Generation: 7, Count: 4}) }()
		w.pass(time.Second)
		late := w.send("s", release("a"))
		if w.shard.State() != actors.Draining || w.last().GetClosed() != nil {
			t.Error("it has not waited for its events")
		}
		letGo()
		must(t, <-done)
		w.wantEnded()
		w.check(w.answer(inflight), messages.Status_GRANTED, 1)
		if got, want := w.passed.inboxes(""), []string{waiter, late}; !slices.Equal(got, want) {
			t.Errorf("passed %v, want %v", got, want)
		}
		c := w.last()
		changed := uint64(0)
		for _, r := range w.journal.Records() {
			if len(r.GetCommit().GetChanges()) > 0 {
				changed = r.GetCommit().GetNumber()
			}
		}
		if c.GetClosed().GetGeneration() != 7 || c.GetClosed().GetShards() != 4 || c.GetPublished() < changed ||
			!w.shard.IsClosed() {
			t.Errorf("the last commit is %v", c)
		}
		w.wantEvents(p.take(), w.committed())
		records := w.journal.Records()
		if f := records[len(records)-1].GetFormat(); f != journal.Format {
			t.Errorf("it has format %d, which an earlier version reads", f)
		}
	})
}

// A closed journal is opened again only when the register says so, and then goes on as after a lost owner.
func TestClosedJournal(t *testing.T) {
	inPassingWorld(t, actors.Tuning{}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Minute))
		w.closeFor(7)
		appends := len(w.journal.Records())
		next := w.successor()
		next.start()
		if err := next.shard.Opened(w.Context()); !errors.Is(err, actors.ErrClosed) {
			t.Errorf("a journal that is closed for good: %v", err)
		}
		next.close()
		var asked []uint32
		open := false
		third := w.successor()
		third.voided = func(_ context.Context, generation uint32) error {
			asked = append(asked, generation)
			if open {
				return nil
			}
			return actors.ErrClosed
		}
		third.start()
		defer third.close()
		if err := third.shard.Opened(w.Context()); !errors.Is(err, actors.ErrClosed) {
			t.Errorf("before it is given up: %v", err)
		}
		w.pass(3 * time.Second)
		if n := len(w.journal.Records()) - appends; n != 0 || third.shard.State() != actors.Opening {
			t.Errorf("%d records were written to a closed journal, by a shard that is %v", n, third.shard.State())
		}
		open = true
		w.pass(2 * time.Second)
		if third.shard.State() != actors.Open || !slices.Contains(asked, 7) {
			t.Fatalf("it is %v, asked %v", third.shard.State(), asked)
		}
		third.want(messages.Status_HELD, 1, "r", acquire("b", time.Minute))
		third.want(messages.Status_RELEASED, 0, "r", release("a"))
		third.want(messages.Status_GRANTED, 2, "r", acquire("b", time.Minute))
	})
}

// A journal with events that cannot be published stays open. Its next owner publishes them.
func TestCloseJournalWithoutEvents(t *testing.T) {
	inClosedWorld(t, actors.Tuning{}, func(w *world) {
		p := &press{}
		w.publisher, w.passed = p, &passed{}
		w.open()
		p.refuseWith(errors.New("no"))
		w.lockAndUnlock("x")
		w.closeFor(7)
		if w.last().GetClosed() != nil || w.shard.IsClosed() {
			t.Error("it was closed")
		}
		next := w.successor()
		next.publisher = &press{}
		next.open()
		defer next.close()
		synctest.Wait()
		next.closeFor(7)
		if next.last().GetClosed() == nil || !next.shard.IsClosed() {
			t.Error("it was not closed")
		}
	})
}
