package node

import (
	"cmp"
	"math"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages/peer"
)

const (
	// clockWindow: an offset is the smallest difference of this window and of the one before.
	clockWindow = 30 * time.Second
	// maxClocks bounds the memory that announcements can take. TestClocksOfManyNodes reaches it.
	maxClocks = 1000
	// maxUnixMillis is the end of the year 9999. Later times count as this one, so that no difference overflows.
	maxUnixMillis = 253_402_300_799_999
	// noDifference stands for a window without announcements.
	noDifference = math.MaxInt64
)

// ClockOffset is how far the clock of a node is from that of another one, the one from which it differs most.
type ClockOffset struct {
	// Node is the other one; empty: there is none that says what its clock shows.
	Node string `json:"node"`
	// Seconds is how far the clock of this node is ahead of the other one; negative: behind. The shortest delay of an
	// announcement of the last minute is in it.
	Seconds float64 `json:"seconds"`
}

// clocks estimates how far the clock of this node is from those of the others, for people: no lease depends on it. A
// delay can only add to the difference between the receipt and the sending of an announcement, so the smallest
// difference of about a minute is nearest to the offset. It is safe for concurrent use.
type clocks struct {
	mu sync.Mutex
	// of are the offsets, by the incarnation of the other node.
	of map[uint64]*offset
}

func newClocks() *clocks { return &clocks{of: make(map[uint64]*offset)} }

// offset is that of one other node.
type offset struct {
	node string
	// present is the smallest difference since began, in milliseconds, and before that of the window before.
	present, before int64
	began           lease.Instant
}

// received notes an announcement of another node. One that does not say when it was sent is of an earlier version.
func (c *clocks) received(a *peer.Announcement, now lease.Time) {
	if a.GetSentUnixMs() <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.of[a.GetIncarnation()]
	if o == nil {
		if c.expire(now.Instant); len(c.of) == maxClocks {
			return
		}
		o = &offset{node: a.GetNode(), present: noDifference, before: noDifference, began: now.Instant}
		c.of[a.GetIncarnation()] = o
	}
	o.add(plausible(now.UnixMillis)-plausible(a.GetSentUnixMs()), now.Instant)
}

// plausible returns a time whose difference to another one does not overflow.
func plausible(unixMillis int64) int64 { return min(max(unixMillis, 0), maxUnixMillis) }

func (o *offset) add(difference int64, now lease.Instant) {
	switch age := now.Sub(o.began); {
	case age >= 2*clockWindow:
		o.present, o.before, o.began = difference, noDifference, now
	case age >= clockWindow:
		o.present, o.before, o.began = difference, o.present, now
	default:
		o.present = min(o.present, difference) // mutant: ClockOfTheLastDelay
	}
}

// expire forgets the nodes that have announced nothing for a window.
func (c *clocks) expire(now lease.Instant) {
	for incarnation, o := range c.of {
		if now.Sub(o.began) >= 2*clockWindow {
			delete(c.of, incarnation)
		}
	}
}

// furthest returns the largest offset.
func (c *clocks) furthest(now lease.Instant) (most ClockOffset) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire(now)
	for _, o := range c.of {
		x := ClockOffset{Node: o.node, Seconds: float64(min(o.present, o.before)) / 1000}
		if cmp.Or(cmp.Compare(math.Abs(x.Seconds), math.Abs(most.Seconds)), cmp.Compare(x.Node, most.Node)) > 0 {
			most = x
		}
	}
	return most
}
