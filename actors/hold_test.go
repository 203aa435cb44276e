package actors_test

import (
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// What was left of a shortest hold when its lease ended runs again at a new owner of the shard, and only what is left
// of that at one to which the shard was handed over; from the journal and from pages.
func TestNewOwnerLetsRest(t *testing.T) {
	for name, tuning := range map[string]actors.Tuning{"from the journal": {},
		"from pages": {CompactCommits: 1, History: 1}} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, tuning, func(w *world) {
				w.want(messages.Status_GRANTED, 1, "r", resting(time.Minute))
				w.pass(500 * time.Millisecond)
				w.want(messages.Status_RELEASED, 0, "r", release("a"))
				w.pass(20 * time.Second)
				w.wantLeft("r", 39500*time.Millisecond)
				w.reopen()
				w.wantLeft("r", 59500*time.Millisecond)
				w.pass(20 * time.Second)
				w.restart(time.Hour)
				w.wantLeft("r", 39500*time.Millisecond)
				w.pass(39500*time.Millisecond - 1)
				w.wantLeft("r", time.Millisecond)
				w.pass(1)
				w.want(messages.Status_FREE, 1, "r", get())
				w.want(messages.Status_RELEASED, 0, "r", releaseToken("a", 1))
			})
		})
	}
}

// A resource that rests loses its actor as any other, and rests on.
func TestIdleResourceRests(t *testing.T) {
	inWorld(t, actors.Tuning{IdleAfter: time.Minute, Remember: time.Hour}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", resting(time.Hour))
		w.want(messages.Status_RELEASED, 0, "r", release("a"))
		w.pass(59 * time.Minute)
		w.wantLeft("r", time.Minute)
		w.pass(time.Minute)
		w.want(messages.Status_GRANTED, 2, "r", acquire("b", time.Second))
	})
}

// A commit has the newest format if it has a block or a shortest hold, and else that which the version before reads; so
// has a page.
func TestFormatOfCommits(t *testing.T) {
	inWorld(t, actors.Tuning{CompactCommits: 1}, func(w *world) {
		for i, step := range []struct {
			event lease.Event
			want  uint32
		}{
			{acquire("a", time.Minute), 3},
			{lease.Extend{Request: &messages.ExtendRequest{Owner: "a", TtlMs: 1000, Tokens: 4}}, 4},
			{release("a"), 4},
			{acquire("a", time.Minute), 3}, {release("a"), 3},
			{resting(time.Minute), 4}, {release("a"), 4}, {confirm(6), 4},
		} {
			before, commits, pages := w.journal.Last(), 0, 0
			w.ask("r", step.event)
			_, err := w.journal.Replay(w.Context(), before, func(_ uint64, r *journal.Record) error {
				if r.GetFormat() != step.want {
					t.Errorf("step %d: %s has format %d, want %d", i, r.Describe(), r.GetFormat(), step.want)
				}
				if r.GetCommit() != nil {
					commits++
				} else {
					pages++
				}
				return nil
			})
			if must(t, err); commits == 0 || pages == 0 {
				t.Errorf("step %d: %d commits, %d pages", i, commits, pages)
			}
		}
	})
}
