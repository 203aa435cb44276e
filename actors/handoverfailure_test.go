package actors_test

import (
	"context"
	"errors"
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

func TestHandOverOfAShardThatIsBeingOpened(t *testing.T) {
	inClosedWorld(t, actors.Tuning{}, func(w *world) {
		w.passed = &passed{}
		w.hold()
		w.start()
		synctest.Wait()
		early := w.send("r", get())
		w.check(w.answer(early), messages.Status_UNAVAILABLE, 0)
		w.handOver()
		if err := w.shard.Opened(w.Context()); !errors.Is(err, actors.ErrEnded) {
			w.Errorf("opened: %v", err)
		}
		if w.shard.Epoch() != 0 || len(w.journal.Records()) != 0 {
			w.Error("it was opened")
		}
	})
}

// An append that never ends holds a hand-over up no longer than its context.
func TestHandOverWithoutTime(t *testing.T) {
	inPassingWorld(t, actors.Tuning{}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Minute))
		waiter := w.send("r", waiting(time.Minute, time.Minute))
		synctest.Wait()
		w.hold()
		inflight := w.send("s", acquire("a", time.Minute))
		synctest.Wait()
		pending := w.send("t", acquire("a", time.Minute))
		w.pass(actors.DefaultTuning().StallAfter + 1)
		stalled := w.send("t", get())
		w.check(w.answer(stalled), messages.Status_UNAVAILABLE, 0)

		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- w.shard.HandOver(ctx) }()
		synctest.Wait()
		late := w.send("r", release("a"))
		w.wantPassed()
		if err := <-done; !errors.Is(err, context.DeadlineExceeded) {
			w.Errorf("hand over: %v", err)
		}
		w.wantEnded()
		w.wantPassed(waiter, late)
		w.check(w.answer(pending), messages.Status_UNAVAILABLE, 0)
		w.wantNone("where the outcome is unknown", inflight)
		w.shard = nil
	})
}

// A hand-over whose last append is refused, or is not known to be stored, ends like any other.
func TestHandOverThatLosesItsJournal(t *testing.T) {
	for _, fault := range []error{journal.ErrConflict, journal.ErrNotStored, journal.ErrUnknown} {
		t.Run(fault.Error(), func(t *testing.T) {
			inPassingWorld(t, actors.Tuning{}, func(w *world) {
				w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Minute))
				waiter := w.send("r", waiting(time.Minute, time.Minute))
				letGo := w.hold()
				inflight := w.send("s", acquire("a", time.Minute))
				synctest.Wait()
				done := make(chan error, 1)
				go func() { done <- w.shard.HandOver(w.Context()) }()
				letGo(fault)
				err := <-done
				w.wantEnded()
				w.wantPassed(waiter)
				if unknown := errors.Is(fault, journal.ErrUnknown); unknown != (err != nil) || unknown != (w.answer(inflight) == nil) {
					w.Errorf("hand over: %v; answered: %v", err, w.answer(inflight))
				}
				w.shard = nil
			})
		})
	}
}

// A resource that panics when its queue is asked for loses that, as it does at any other time, and
// holds nothing up.
func TestPanicOfAResourceDuringHandOver(t *testing.T) {
	inPassingWorld(t, actors.Tuning{}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Minute))
		lost := w.send("r", waiting(time.Minute, time.Minute))
		synctest.Wait()
		w.clock.panicAfter(0)
		w.handOver()
		w.wantPassed()
		if !strings.Contains(w.log.String(), "panic in a resource") || w.answer(lost) != nil {
			w.Error("nothing panicked: the test is vacuous")
		}
		next := w.successor()
		next.open()
		defer next.close()
		next.want(messages.Status_HELD, 1, "r", get())
	})
}

// What is held back until a resource that panicked has its state again is neither lost nor counted
// for ever when it never gets that.
func TestShardLostWhileAResourceHasNoState(t *testing.T) {
	for _, passes := range []bool{true, false} {
		t.Run(fmt.Sprint("passes ", passes), func(t *testing.T) {
			inClosedWorld(t, actors.Tuning{MaxPending: 5}, func(w *world) {
				if passes {
					w.passed = &passed{}
				}
				w.open()
				letGo := w.hold()
				inflight := w.send("r", acquire("a", time.Minute))
				synctest.Wait()
				w.clock.panicAfter(1) // with an append on its way, the shard reads the clock first
				w.send("r", extend("a", time.Minute))
				synctest.Wait()
				held := []string{w.send("r", get()), w.send("r", release("a"))}
				synctest.Wait()
				next := w.successor()
				next.open()
				defer next.close()
				letGo(nil)
				w.check(w.answer(inflight), messages.Status_UNAVAILABLE, 0)
				if !strings.Contains(w.log.String(), "panic in a resource") {
					w.Error("nothing panicked: the test is vacuous")
				}
				if passes {
					w.wantEnded()
					w.wantPassed(held...)
					return
				}
				for _, inbox := range held {
					w.check(w.answer(inbox), messages.Status_UNAVAILABLE, 0)
				}
				w.handOver() // it would not end if one were still counted
			})
		})
	}
}

// A resource that panics when its queue is evicted, because the shard is lost, loses that, and does no
// other harm.
func TestPanicOfAResourceOfALostShard(t *testing.T) {
	inWorld(t, actors.Tuning{MaxPending: 1}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Hour))
		lost := w.send("r", waiting(time.Minute, time.Hour))
		synctest.Wait()
		letGo := w.hold()
		inflight := w.send("s", get())
		synctest.Wait()
		w.clock.panicAfter(1) // the refusal of inflight is the first
		letGo(journal.ErrNotStored)
		w.check(w.answer(inflight), messages.Status_UNAVAILABLE, 0)
		if !strings.Contains(w.log.String(), "panic in a resource") || w.answer(lost) != nil {
			w.Error("nothing panicked: the test is vacuous")
		}
		w.pass(2 * time.Second)
		w.want(messages.Status_HELD, 1, "r", get())
		if strings.Contains(w.log.String(), "panic in a shard") {
			w.Error("the shard panicked as well")
		}
	})
}

// A shard that panics while it leaves does not come back.
func TestPanicOfAShardDuringHandOver(t *testing.T) {
	inPassingWorld(t, actors.Tuning{}, func(w *world) {
		letGo := w.hold()
		w.send("r", acquire("a", time.Minute))
		synctest.Wait()
		w.answers.before = func(lease.Answer) {
			w.answers.before = nil
			panic("ordered by the test")
		}
		done := make(chan error, 1)
		go func() { done <- w.shard.HandOver(w.Context()) }()
		letGo(nil)
		if err := <-done; err == nil {
			w.Error("HandOver does not say that requests were left without an answer")
		}
		w.wantEnded()
		if n := w.journal.Appends(); n != 2 {
			w.Errorf("%d appends: it was opened again", n)
		}
		w.shard = nil
	})
}
