package actors_test

import (
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/messages"
)

// wantUnavailable asks for the state of a resource, which the shard cannot decide.
func (w *world) wantUnavailable(lasting bool) {
	w.Helper()
	r := w.ask("r", get())
	w.check(r, messages.Status_UNAVAILABLE, 0)
	if r.GetLasting() != lasting {
		w.Errorf("lasting is %v in %v", r.GetLasting(), r)
	}
}

// A refusal says that it lasts when the shard has decided nothing for longer than a failover takes.
func TestRefusalsThatLast(t *testing.T) {
	const short = actors.LastingAfter - time.Second
	t.Run("nothing is confirmed", func(t *testing.T) {
		inWorld(t, actors.Tuning{}, func(w *world) {
			for range 2 {
				letGo := w.hold()
				first := w.send("r", get())
				w.pass(short)
				w.wantUnavailable(false)
				w.pass(time.Second)
				w.wantUnavailable(true)
				letGo(nil)
				w.check(w.answer(first), messages.Status_FREE, 0)
			}
		})
	})
	t.Run("the shard cannot be opened", func(t *testing.T) {
		inClosedWorld(t, actors.Tuning{}, func(w *world) {
			w.open()
			w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Minute))
			w.close()
			poisoned := &poisoned{Memory: w.journal}
			poisoned.position.Store(2)
			w.over = poisoned
			w.start()
			w.pass(short)
			w.wantUnavailable(false)
			w.pass(time.Second)
			w.wantUnavailable(true)
			poisoned.position.Store(0)
			w.pass(time.Second)
			w.want(messages.Status_HELD, 1, "r", get())
		})
	})
}
