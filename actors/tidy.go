package actors

import (
	"math"
	"time"

	"github.com/holdfast-io/holdfast/actors/ledger"
)

const (
	// tidyParts is how many times a shard looks for what it may shrink or forget while a resource is kept
	// for that long; tidyLeast lies between two times at least.
	tidyParts = 8
	tidyLeast = time.Second
)

// tidying shrinks and forgets by the clock. A compaction that waits for the journal to grow does not:
// without requests it never begins.
type tidying struct {
	// tidyTimer stops the timer, nil if there is none. tidySoon: it was set for a change since the last
	// round.
	tidyTimer func() bool
	tidySoon  bool
	round     ledger.Sweep
}

// tidy tells a tenure to go on with a round.
type tidy struct{ tenure *tenure }

func tidyEvery(keep time.Duration) time.Duration { return max(keep/tidyParts, tidyLeast) }

// tidyLater lets a round begin some time after a change.
func (t *tenure) tidyLater() {
	if !t.tidySoon {
		t.tidySoon = true
		t.tidyAfter(min(tidyEvery(t.shard.cfg.Tuning.ShrinkAfter), tidyEvery(t.shard.cfg.Tuning.Remember)))
	}
}

func (t *tenure) tidyAfter(d time.Duration) {
	if t.tidyTimer != nil {
		t.tidyTimer()
	}
	t.tidyTimer = t.shard.cfg.Clock.AfterFunc(d, func() { t.tell(tidy{t}) })
}

// tidyUp looks at some pages.
func (t *tenure) tidyUp() {
	if t.over {
		return
	}
	if !t.round.Began() {
		t.tidySoon = false
	}
	m := t.retention()
	fresh := t.shard.cfg.Clock.Now().UnixMillis - t.shard.cfg.Tuning.ShrinkAfter.Milliseconds()
	if !t.round.Step(t.ledger, fresh, m) {
		t.tell(tidy{t})
		return
	}
	t.tidied()
}

// tidied ends a round: it begins a compaction if there is something to forget, and sets the timer if
// there will be.
func (t *tenure) tidied() {
	t.fromFree = t.shard.cfg.Tuning.MaxRemembered // what was in use may not be any more
	if t.round.Expired() || t.crowded() || t.grown() {
		t.compact()
	}
	t.round = ledger.Sweep{}
	if t.tidySoon {
		return // there was a change since this round began
	}
	oldest, fresh := t.ledger.Oldest()
	tuning := t.shard.cfg.Tuning
	switch {
	case fresh != math.MaxInt64:
		t.tidyLater()
	case oldest != math.MaxInt64:
		since := t.shard.cfg.Clock.Now().UnixMillis - oldest
		t.tidyAfter(max(tuning.Remember-time.Duration(since)*time.Millisecond, tidyEvery(tuning.Remember)))
	}
}
