package ledger

import "math"

// sweepEntries bounds how many entries one step of a [Sweep] looks at.
const sweepEntries = 4096

// Sweep is one pass over the pages that shrinks what has been free for a while, and looks for something to
// forget. The zero value is a pass that has yet to begin.
type Sweep struct {
	// cursor is the hash from which on pages have yet to be looked at.
	cursor  uint64
	expired bool
}

// Step looks at some pages, and reports whether the pass is done. Resources that have been free since
// before, as [Ledger.Before] returns it, are shrunk.
func (s *Sweep) Step(l *Ledger, before int64, r Retention) (done bool) {
	looked := 0
	last := l.pages.from(s.cursor, func(p *page) bool {
		looked += s.visit(p, before, r)
		return looked >= sweepEntries
	})
	if last == nil {
		return true
	}
	s.cursor = last.end()
	return s.cursor == 0
}

// Began reports whether a step has been made that was not the last one.
func (s *Sweep) Began() bool { return s.cursor != 0 }

// Expired reports whether the steps so far have found something to forget.
func (s *Sweep) Expired() bool { return s.expired }

// visit looks at one page, and returns about how many entries it has looked at.
func (s *Sweep) visit(p *page, before int64, r Retention) (looked int) {
	looked = 1
	if p.fresh < before {
		looked += len(p.entries)
		p.shrink(before)
	}
	if p.oldest < r.Before && !s.expired {
		looked += len(p.entries) + len(p.tombstones)
		if s.expired = r.expired(p); !s.expired {
			p.measure()
		}
	}
	return looked
}

// Oldest returns lower bounds of when the free resources were last used, in Unix milliseconds: of all, and
// of those that have not been shrunk. [math.MaxInt64]: there are none.
func (l *Ledger) Oldest() (all, whole int64) {
	all, whole = math.MaxInt64, math.MaxInt64
	l.pages.each(func(p *page) { all, whole = min(all, p.oldest), min(whole, p.fresh) })
	return all, whole
}
