package actors

import (
	"math"
	"time"
)

const (
	// tidyParts is how many times a shard looks for what it may shrink or forget while a resource is kept
	// for that long; tidyLeast lies between two times at least.
	tidyParts = 8
	tidyLeast = time.Second
	// tidyAtOnce bounds how many entries are looked at in one turn of the shard.
	tidyAtOnce = 4096
)

// tidying shrinks and forgets by the clock. A compaction that waits for the journal to grow does not:
// without requests it never begins.
type tidying struct {
	// tidyTimer stops the timer, nil if there is none. tidySoon: it was set for a change since the last
	// round.
	tidyTimer func() bool
	tidySoon  bool
	// tidyFrom is the hash from which on the round has yet to look. outlived: a page before has something
	// to forget.
	tidyFrom uint64
	outlived bool
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
	if t.tidyFrom == 0 {
		t.tidySoon = false
	}
	m := t.memory()
	fresh := t.shard.cfg.Clock.Now().UnixMillis - t.shard.cfg.Tuning.ShrinkAfter.Milliseconds()
	looked := 0
	last := t.ledger.from(t.tidyFrom, func(p *page) bool {
		looked += p.tidy(fresh, m, &t.outlived)
		return looked >= tidyAtOnce
	})
	if last != nil && last.end() != 0 {
		t.tidyFrom = last.end()
		t.tell(tidy{t})
		return
	}
	t.tidied()
}

// tidy shrinks what was not used since fresh, and notes whether there is something to forget. It returns
// about how many entries it has looked at.
func (p *page) tidy(fresh int64, m memory, outlived *bool) (looked int) {
	looked = 1
	if p.fresh < fresh {
		looked += len(p.entries)
		p.shrink(fresh)
	}
	if p.oldest < m.before && !*outlived {
		looked += len(p.entries) + len(p.tombstones)
		if *outlived = m.outlived(p); !*outlived {
			p.measure()
		}
	}
	return looked
}

// tidied ends a round: it begins a compaction if there is something to forget, and sets the timer if
// there will be.
func (t *tenure) tidied() {
	t.fromFree = t.shard.cfg.Tuning.MaxRemembered // what was in use may not be any more
	if t.outlived || t.crowded() || t.grown() {
		t.compact()
	}
	t.tidyFrom, t.outlived = 0, false
	if t.tidySoon {
		return // there was a change since this round began
	}
	oldest, fresh := int64(math.MaxInt64), int64(math.MaxInt64)
	t.ledger.pages(func(p *page) { oldest, fresh = min(oldest, p.oldest), min(fresh, p.fresh) })
	tuning := t.shard.cfg.Tuning
	switch {
	case fresh != math.MaxInt64:
		t.tidyLater()
	case oldest != math.MaxInt64:
		since := t.shard.cfg.Clock.Now().UnixMillis - oldest
		t.tidyAfter(max(tuning.Remember-time.Duration(since)*time.Millisecond, tidyEvery(tuning.Remember)))
	}
}
