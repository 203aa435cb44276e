package actors_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/ledger"
	"github.com/holdfast-io/holdfast/messages"
)

// A census counts what there is, by kind, and the longest of all queues while queues come and go.
func TestCensus(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		want := func(want actors.Census) {
			w.Helper()
			got, err := w.shard.Census(w.Context())
			if got.Bytes == 0 && want.Exclusive > 0 {
				w.Error("leases without bytes")
			}
			if got.Bytes = 0; err != nil || got != want {
				w.Errorf("the census is\n%+v (%v), want\n%+v", got, err, want)
			}
		}
		want(actors.Census{State: actors.Open, Epoch: 1})
		shared := acquire("reader", time.Minute)
		shared.Request.Limit = 3
		w.want(messages.Status_GRANTED, 1, "shared", shared)
		inMemory := acquire("m", time.Minute)
		inMemory.Request.Durability = messages.Durability_EPHEMERAL
		w.want(messages.Status_GRANTED, 1, "memory", inMemory)
		inMemory.Request.Limit = 2
		w.want(messages.Status_GRANTED, 1, "shared memory", inMemory)
		back := acquire("lost", time.Second)
		back.Request.Confirm = true
		w.want(messages.Status_GRANTED, 1, "lost", back)
		w.want(messages.Status_GRANTED, 1, "one", acquire("a", time.Minute))
		w.want(messages.Status_GRANTED, 1, "two", acquire("a", time.Minute))
		for range 3 {
			w.send("one", waiting(time.Minute, time.Hour))
		}
		for range 2 {
			w.send("two", waiting(time.Minute, time.Hour))
		}
		synctest.Wait()
		c := actors.Census{
			State: actors.Open, Epoch: 1, Waiting: 5, LongestQueue: 3, EphemeralExclusive: 1, EphemeralShared: 1,
			Actors:  6,
			Figures: ledger.Figures{Exclusive: 3, Shared: 1},
		}
		want(c)
		w.pass(2 * time.Second)
		c.Exclusive, c.HeldBack = 2, 1
		want(c)
		w.want(messages.Status_RELEASED, 0, "one", release("a"))
		c.Waiting, c.LongestQueue = 4, 2
		want(c)
		w.want(messages.Status_RELEASED, 0, "one", release("b"))
		w.want(messages.Status_RELEASED, 0, "two", release("a"))
		c.Waiting, c.LongestQueue = 2, 1
		want(c)
	})
}

// A shard that is being opened has its state alone, and one that has ended says so.
func TestCensusOfAShardThatIsNotOpen(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Hour))
		letGo := w.hold()
		w.send("r", release("a"))
		letGo(errors.New("lost"))
		synctest.Wait()
		if c, err := w.shard.Census(w.Context()); err != nil || c != (actors.Census{State: actors.Opening}) {
			w.Errorf("a shard that is being opened: %+v, %v", c, err)
		}
		shard := w.shard
		w.close()
		if _, err := shard.Census(w.Context()); !errors.Is(err, actors.ErrEnded) {
			w.Errorf("an ended shard: %v", err)
		}
		if err := shard.Prove(w.Context()); !errors.Is(err, actors.ErrEnded) {
			w.Errorf("an ended shard: %v", err)
		}
	})
}

// A proof is a confirmed append: the one in flight, or one that is not old, or one of its own.
func TestProof(t *testing.T) {
	const old = 5 * time.Second
	inWorld(t, actors.Tuning{}, func(w *world) {
		before := w.journal.Appends()
		for range 3 {
			for range 5 {
				if err := w.shard.Prove(w.Context()); err != nil {
					w.Fatal(err)
				}
				w.pass(old / 5)
			}
		}
		if n := w.journal.Appends() - before; n != 3 {
			w.Errorf("%d appends in three times %v, want 3", n, old)
		}
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Hour))
		letGo := w.hold()
		w.send("r", release("a"))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		err := w.shard.Prove(ctx)
		if !errors.Is(err, actors.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) ||
			!strings.Contains(err.Error(), "is stalled: JetStream has confirmed no commit") {
			w.Errorf("a journal that confirms nothing: %v", err)
		}
		late := make(chan error, 2000)
		for range cap(late) {
			go func() { late <- w.shard.Prove(w.Context()) }()
		}
		const room = 999 // the one that has given up takes place, too
		for range cap(late) - room {
			if err := <-late; !errors.Is(err, actors.ErrUnavailable) ||
				!strings.Contains(err.Error(), "is stalled: JetStream has confirmed no commit") {
				w.Errorf("more than a thousand wait: %v", err)
			}
		}
		w.pass(old)
		letGo(nil)
		for range room {
			if err := <-late; err != nil {
				w.Errorf("the append in flight was confirmed: %v", err)
			}
		}
		letGo = w.hold()
		go func() { late <- w.shard.Prove(w.Context()) }()
		synctest.Wait()
		letGo(errors.New("lost"))
		if err := <-late; !errors.Is(err, actors.ErrUnavailable) {
			w.Errorf("an append that is lost: %v", err)
		}
		synctest.Wait()
		if err := w.shard.Prove(w.Context()); !errors.Is(err, actors.ErrUnavailable) {
			w.Errorf("a shard that is not open: %v", err)
		}
	})
}
