package actors_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/journaltest"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// A successor that does not wait for the end deposes its predecessor, which passes on what it has
// not decided and ends.
func TestDeposedShardPassesOn(t *testing.T) {
	inPassingWorld(t, actors.Tuning{}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Minute))
		waiter := w.send("r", waiting(time.Minute, time.Minute))
		synctest.Wait()
		letGo := w.hold()
		inflight := w.send("s", acquire("a", time.Minute))
		synctest.Wait()
		pending := w.send("s", release("a"))
		synctest.Wait()
		next := w.successor()
		next.open()
		defer next.close()
		letGo(nil)
		for _, inbox := range []string{inflight, pending} {
			w.check(w.answer(inbox), messages.Status_UNAVAILABLE, 0)
		}
		w.wantEnded()
		w.wantPassed(waiter)
		w.pass(time.Minute) // it is not opened again
		w.wantEnded()
		if next.shard.Epoch() != 2 || next.shard.State() != actors.Open {
			w.Errorf("the successor is %v in epoch %d", next.shard.State(), next.shard.Epoch())
		}
		must(w.T, w.shard.HandOver(w.Context()))
		must(w.T, w.shard.Close(w.Context()))
	})
}

// A shard that has lost its journal for another reason than a successor stays with its owner.
func TestShardThatPassesOnOpensAgain(t *testing.T) {
	for _, err := range []error{journal.ErrUnknown, journal.ErrNotStored} {
		inPassingWorld(t, actors.Tuning{}, func(w *world) {
			letGo := w.hold()
			w.send("r", acquire("a", time.Minute))
			letGo(err)
			synctest.Wait()
			if s := w.shard.State(); s != actors.Opening {
				w.Errorf("the shard is %v", s)
			}
			w.pass(2 * time.Second)
			if s := w.shard.State(); s != actors.Open || w.shard.Epoch() != 2 {
				w.Errorf("the shard is %v in epoch %d", s, w.shard.Epoch())
			}
			w.wantPassed()
		})
	}
}

func TestBarrier(t *testing.T) {
	inPassingWorld(t, actors.Tuning{}, func(w *world) {
		before := w.journal.Appends()
		w.shard.Barrier()
		synctest.Wait()
		if n := w.journal.Appends() - before; n != 1 || w.shard.State() != actors.Open {
			w.Errorf("%d appends; the shard is %v", n, w.shard.State())
		}
		letGo := w.hold()
		w.send("r", acquire("a", time.Minute))
		synctest.Wait()
		w.shard.Barrier() // the append that is on its way is proof enough
		letGo(nil)
		synctest.Wait()
		if n := w.journal.Appends() - before; n != 2 {
			w.Errorf("%d appends", n)
		}

		next := w.successor()
		next.open()
		defer next.close()
		synctest.Wait()
		if s := w.shard.State(); s != actors.Open {
			w.Errorf("the shard is %v, though it cannot know yet", s)
		}
		w.shard.Barrier()
		w.wantEnded()
		w.shard.Barrier()
		w.wantEnded()
	})
}

// A caller that receives each change of state sees every state.
func TestStateChanges(t *testing.T) {
	inClosedWorld(t, actors.Tuning{}, func(w *world) {
		var mu sync.Mutex
		changes := 0
		w.changed = func() {
			mu.Lock()
			defer mu.Unlock()
			changes++
		}
		check := func(s actors.State, n int) {
			w.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if w.shard.State() != s || changes != n {
				w.Errorf("the shard is %v after %d changes, want %v after %d", w.shard.State(), changes, s, n)
			}
		}
		letGo := w.hold()
		w.start()
		check(actors.Opening, 0)
		letGo(nil)
		check(actors.Open, 1)
		letGo = w.hold()
		w.send("r", acquire("a", time.Minute))
		letGo(journal.ErrNotStored)
		check(actors.Opening, 2)
		w.pass(2 * time.Second)
		check(actors.Open, 3)
		letGo = w.hold()
		w.send("r", acquire("a", time.Minute))
		synctest.Wait()
		go func() { must(w.T, w.shard.HandOver(w.Context())) }()
		check(actors.Draining, 4)
		letGo(nil)
		check(actors.Ended, 5)
	})
}

// A shard reports since when it awaits a confirmation, and when the last append began that was confirmed.
func TestUnconfirmed(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		wantNone := func() {
			w.Helper()
			if at := w.shard.Unconfirmed(); at != lease.Never {
				t.Errorf("it awaits a confirmation since %d", at)
			}
		}
		wantNone()
		for _, outcome := range []error{nil, journal.ErrNotStored} {
			letGo := w.hold()
			began := w.clock.Now().Instant
			w.send("r", acquire("a", time.Minute))
			w.pass(time.Second)
			if at := w.shard.Unconfirmed(); at != began {
				t.Errorf("it awaits a confirmation since %d, want %d", at, began)
			}
			letGo(outcome)
			synctest.Wait()
			wantNone()
			if at := w.shard.Confirmed(); (at == began) != (outcome == nil) || at == lease.Never {
				t.Errorf("the last confirmed append began at %d, and one at %d had the outcome %v", at, began, outcome)
			}
		}
	})
}

// An opening that is interrupted goes on where it was, and what is read twice is no progress.
func TestInterruptedOpeningGoesOn(t *testing.T) {
	inClosedWorld(t, actors.Tuning{}, func(w *world) {
		const commits = 100
		for n := range uint64(commits) {
			c := &journal.Commit{Epoch: 1, Number: n + 1, Writer: &journal.Writer{Node: "before"}, Opened: n == 0}
			must(t, w.journal.Store(n, &journal.Record{Format: journal.Format,
				Body: &journal.Record_Commit{Commit: c}}))
		}
		j := &interrupted{Memory: w.journal, after: 60, with: journal.ErrUnknown}
		w.over = j
		w.start()
		w.pass(time.Minute)
		if s := w.shard.State(); s != actors.Open || w.shard.Progress() != commits { // without its own commit
			t.Errorf("the shard is %v and has read %d records of %d", s, w.shard.Progress(), commits)
		}
		if !slices.Equal(j.froms, []uint64{0, 60}) {
			t.Errorf("it has read from %v", j.froms)
		}
	})
}

// What is read again and again, because it cannot be used, is progress once.
func TestReadingTheSameIsNoProgress(t *testing.T) {
	inClosedWorld(t, actors.Tuning{}, func(w *world) {
		for n := range uint64(10) {
			c := &journal.Commit{Epoch: 1, Number: n + 1, Writer: &journal.Writer{Node: "before"}, Opened: n == 0}
			must(t, w.journal.Store(n, &journal.Record{Format: journal.Format,
				Body: &journal.Record_Commit{Commit: c}}))
		}
		w.journal.Delete(6)
		w.start()
		w.pass(time.Minute)
		if s, n := w.shard.State(), w.shard.Progress(); s != actors.Opening || n != 5 {
			t.Errorf("the shard is %v, and has read %d records", s, n)
		}
	})
}

// interrupted is a journal whose first reading ends with an error.
type interrupted struct {
	*journaltest.Memory
	after uint64
	with  error
	froms []uint64
}

func (j *interrupted) Replay(ctx context.Context, after uint64, apply func(uint64, *journal.Record) error) (uint64,
	error) {
	j.froms = append(j.froms, after)
	return j.Memory.Replay(ctx, after, func(position uint64, r *journal.Record) error {
		if len(j.froms) == 1 && position > j.after {
			return j.with
		}
		return apply(position, r)
	})
}
