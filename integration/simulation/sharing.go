package simulation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

const (
	// semaphore is the name of one, slots how many permits it has.
	semaphore = "semaphore"
	slots     = 3
)

// useSlots acquires permits of the semaphore, and increments the counters of its slots: each slot is locked as by a
// mutex, so no more than there are permits are held.
func (x *worker) useSlots() {
	ttl, n := x.length(), 1+x.dice.IntN(2)
	ctx, cancel := x.acquiring()
	defer cancel()
	l, err := x.client.Acquire(ctx, semaphore, holdfast.TTL(ttl), x.waits(), holdfast.Permits(n, slots))
	if err != nil {
		x.count("permits: " + outcomeOf(err))
		return
	}
	x.count("permits")
	has := l.Slots()
	if len(has) != n || slices.Max(has) >= slots {
		x.note(fmt.Errorf("%v: %d permits of %d have the slots %v", l, n, slots, has))
		return
	}
	var uses []use
	for i, slot := range has {
		x.acquired(x.slots[slot], l, false)
		uses = append(uses, use{x.slots[slot], l, func() holdfast.Token {
			claim, err := l.SlotClaim(i)
			if err != nil {
				x.note(err)
			}
			return claim.Token
		}})
	}
	x.increment(uses, func() { pass(x.upTo(2 * ttl)) })
	for _, u := range uses {
		_ = x.take(u.counter, l.Token())
	}
	x.ends("release of permits", l.Release)
}

// write increments the document, and may read it then beside others, without letting go of its lock.
func (x *worker) write() {
	ttl, c := x.length(), x.document
	l := x.acquire(c, ttl, false)
	if l == nil {
		return
	}
	x.count("written")
	x.increment([]use{under(c, l)}, func() { pass(x.upTo(ttl)) })
	if x.chance(2) && x.downgrade(c, l) {
		x.read(under(c, l), func() { pass(x.upTo(2 * ttl)) })
	}
	x.release(c, l)
}

// downgrade lets others share a lock, and reports whether that is known to be so.
func (x *worker) downgrade(c *counter, l *holdfast.Lock) bool {
	ctx, cancel := context.WithTimeout(x.ctx, 5*time.Second)
	defer cancel()
	before := l.Token()
	x.share(c, l)
	if err := l.Downgrade(ctx); err != nil {
		x.count("downgrade: " + outcomeOf(err))
		return false
	}
	x.count("downgraded")
	if l.Token() <= before {
		x.note(fmt.Errorf("%v had token %d before it was downgraded", l, before))
	}
	return true
}

// peruse reads the document, beside others that read it.
func (x *worker) peruse() {
	ttl, c := x.length(), x.document
	l := x.acquire(c, ttl, true, holdfast.Shared())
	if l == nil {
		return
	}
	x.count("shared")
	x.read(under(c, l), func() { pass(x.upTo(2 * ttl)) })
	x.release(c, l)
}
