package ledger

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// Retention says which free resources a ledger may forget.
type Retention struct {
	// Before is as [Ledger.Before] returns it: a resource that has not changed since may be forgotten.
	Before int64
	// Limit is how many free resources the ledger may remember: beyond it the oldest are forgotten.
	Limit int
	// InUse reports whether a resource must stay although it is free.
	InUse func(resource string) bool
}

// Before returns the time, in Unix milliseconds, before which resources were last used that have been unused for d. The
// owner counts on its own monotonic clock, and what other owners have recorded from [Ledger.Restart] on; their wall
// clocks only say what goes first. [math.MinInt64]: no resource has been unused for d.
func (l *Ledger) Before(now lease.Instant, d time.Duration) int64 {
	if now.Sub(l.began.Instant) < d { // mutant: AgeByTheWallClock
		return math.MinInt64
	}
	return l.usedAt(now.Add(-d))
}

// Unused returns for how long a resource of this last use has been unused, counted as in [Ledger.Before].
func (l *Ledger) Unused(used int64, now lease.Instant) time.Duration {
	return time.Duration(l.usedAt(now)-max(used, l.began.UnixMillis)) * time.Millisecond
}

// usedAt returns what stands for a use at the instant: the wall clock of the beginning, and the time since then.
func (l *Ledger) usedAt(at lease.Instant) int64 {
	return l.began.UnixMillis + at.Sub(l.began.Instant).Milliseconds()
}

// share is how many free resources the page may remember: its part of the limit. Hashes spread them
// evenly, so that each page can forget by itself, and no turn of the shard looks at all.
func (r Retention) share(p *page) int { return (r.Limit + 1<<p.depth - 1) >> p.depth } // mutant: RememberedWithoutBound

// wants reports whether a checkpoint should store the page.
func (r Retention) wants(p *page) bool {
	return p.dirty || !p.stored || p.free() > r.share(p) || r.expired(p)
}

// expired reports whether the page has a resource that has been remembered for long enough.
func (r Retention) expired(p *page) bool {
	return p.oldest < r.Before && slices.ContainsFunc(p.forgettable(r),
		func(c candidate) bool { return c.used < r.Before })
}

// candidate is a free resource that is not in use.
type candidate struct {
	used     int64
	resource string
}

// compare puts the oldest first; among those of the same time, names decide.
func (c candidate) compare(o candidate) int {
	return cmp.Or(cmp.Compare(c.used, o.used), cmp.Compare(c.resource, o.resource))
}

// forgettable returns the free resources of the page that are not in use, in no order.
func (p *page) forgettable(r Retention) (all []candidate) {
	for resource, e := range p.entries {
		if e.IsFree() && !r.InUse(resource) {
			all = append(all, candidate{e.used, resource})
		}
	}
	for resource, t := range p.tombstones {
		if !r.InUse(resource) {
			all = append(all, candidate{t.used(), resource})
		}
	}
	return all
}

// forget drops what may be forgotten from the page, and returns the highest token that was dropped, 0 if
// none was.
func (p *page) forget(r Retention) (floor messages.Token) {
	excess := p.free() - r.share(p)
	if p.oldest >= r.Before && excess <= 0 {
		return 0
	}
	tombstones := len(p.tombstones)
	all := p.forgettable(r)
	if excess > 0 {
		slices.SortFunc(all, candidate.compare)
	}
	for i, c := range all {
		if i < excess || c.used < r.Before {
			floor = max(floor, p.drop(c.resource)) // mutant: FloorNotRaised
		}
	}
	p.tombstones = refit(p.tombstones, tombstones)
	p.measure()
	return floor
}

// drop forgets one free resource, and returns its last token.
func (p *page) drop(resource string) messages.Token {
	e, _ := p.find(resource)
	delete(p.suspended, resource)
	if _, ok := p.tombstones[resource]; ok {
		p.removeTombstone(resource)
	} else {
		p.remove(resource, e)
	}
	return e.Token()
}
