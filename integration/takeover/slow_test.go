package takeover_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// tally counts what happened to the appends.
type tally struct {
	opened, pages, deposed, lostRaces, unknown, pauses atomic.Int64
}

// slow is a journal whose owner is paused now and then, right before an append leaves or right after it
// was confirmed, for long enough to be deposed meanwhile.
type slow struct {
	actors.Journal
	tally *tally
	seed  uint64
	calls atomic.Uint64
}

// How many of a hundred appends are paused, before and behind, and for how long at most.
const (
	pauseChance = 6
	pauseMost   = 400 * time.Millisecond
)

// Append implements [actors.Journal].
func (s *slow) Append(ctx context.Context, after uint64, r *journal.Record) error {
	d := newDice(s.seed, s.calls.Add(1))
	if d.chance(pauseChance) {
		s.pause(ctx, d)
	}
	err := s.Journal.Append(ctx, after, r)
	switch {
	case err == nil && r.GetCommit().GetOpened():
		s.tally.opened.Add(1)
	case err == nil && r.GetPage() != nil:
		s.tally.pages.Add(1)
	case errors.Is(err, journal.ErrConflict) && r.GetCommit().GetOpened():
		s.tally.lostRaces.Add(1)
	case errors.Is(err, journal.ErrConflict):
		s.tally.deposed.Add(1)
	case err != nil && !errors.Is(err, journal.ErrNotStored):
		s.tally.unknown.Add(1)
	}
	if d.chance(pauseChance) {
		s.pause(ctx, d)
	}
	return err
}

func (s *slow) pause(ctx context.Context, d dice) {
	s.tally.pauses.Add(1)
	pause(ctx, d.between(0, pauseMost))
}

// String returns one line for the report.
func (t *tally) String() string {
	return fmt.Sprintf(
		"%d pages, %d owners found themselves deposed, %d races to open lost, %d appends given up unknown, %d pauses",
		t.pages.Load(), t.deposed.Load(), t.lostRaces.Load(), t.unknown.Load(), t.pauses.Load())
}
