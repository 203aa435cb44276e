package node

import (
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
)

const (
	// settleAfter is how long a node has to be there before others count on it, so that one that comes and
	// goes moves no shards.
	settleAfter = 3 * time.Second
	// orphanAfter is after how long a shard that nobody owns, although somebody should, is opened by the
	// next in line, and after twice that by the one behind.
	orphanAfter = 3 * time.Second
	// openPatience is how long an opening may go without progress before another node should try. How long
	// it takes in all does not matter: another node would have to read the same records from the start.
	openPatience = 10 * time.Second
	// failingFor is how long a node stands back from a shard that it could not open.
	failingFor = 30 * time.Second
	// calmFirst is how long a node that was deposed leaves the shard alone: time to hear of the new
	// owner. It doubles, up to calmMost, with each time that the node is deposed before it has owned the
	// shard for lastingTenure: two nodes that do not hear each other must not fight for ever.
	calmFirst     = listenFor
	calmMost      = 5 * time.Minute
	lastingTenure = 10 * time.Minute
	// handOverLimit bounds what a shard that is let go may take to store what it has decided.
	handOverLimit = 5 * time.Second
)

// custody is what a node has to do with one shard.
type custody struct {
	// shard is the node's own, from its opening to its end; nil if it has none.
	shard *actors.Shard
	// ending: it is being handed over, or has been deposed.
	ending bool
	// ceding: the leadership of the bucket goes to the next owner, which opens the shard afterwards.
	ceding bool
	// opening is since when it has been that, opened since when it is, or was last,
	// open; Never if not.
	opening, opened lease.Instant
	// records is how many have been read while it is opening, progressed when that last grew, and told when
	// the log last said so.
	records          uint64
	progressed, told lease.Instant
	// unowned is since when nobody is known to have the shard; Never if somebody is.
	unowned lease.Instant
	// rest is until when the node leaves the shard alone, failing until when it stands back.
	rest, failing lease.Instant
	deposed       int
	// led is since when the node's server has led the bucket; Never if it does not.
	led lease.Instant
	// door: requests that name the shard come here.
	door bool
}

func newCustody() *custody {
	return &custody{opening: lease.Never, opened: lease.Never, unowned: lease.Never, led: lease.Never}
}

// standing is the shard's, Ended if there is none. One that has ended is still leaving while the
// leadership of its bucket is.
func (c *custody) standing() actors.Standing {
	switch {
	case c.shard == nil:
		return actors.Ended
	case c.ceding:
		return min(c.shard.Standing(), actors.Leaving)
	default:
		return c.shard.Standing()
	}
}

// follow keeps account of where the shard stands.
func (c *custody) follow(now lease.Instant) {
	is := c.standing()
	c.opening = since(is == actors.Opening, c.opening, now)
	if records := c.progress(); c.opening == now || records != c.records {
		c.records, c.progressed = records, now
	}
	if is == actors.Open || is == actors.Opening {
		c.opened = since(is == actors.Open, c.opened, now)
	}
}

// progress is how many records have been read to open the shard.
func (c *custody) progress() uint64 {
	if c.shard == nil {
		return 0
	}
	return c.shard.Progress()
}

// stuck reports whether an opening has made no progress for too long.
func (c *custody) stuck(now lease.Instant) bool {
	return c.opening != lease.Never && now.Sub(c.progressed) >= openPatience
}

// slow reports whether it is time for a line in the log about an opening that takes long.
func (c *custody) slow(now lease.Instant) bool {
	if c.opening == lease.Never || now.Sub(max(c.opening, c.told)) < openPatience {
		return false
	}
	c.told = now
	return true
}

// since is since when something has been so: Never if it is not, else as before or from now.
func since(is bool, before, now lease.Instant) lease.Instant {
	switch {
	case !is:
		return lease.Never
	case before == lease.Never:
		return now
	default:
		return before
	}
}

// has reports whether something has been so for d, by an instant of [since].
func has(since lease.Instant, d time.Duration, now lease.Instant) bool {
	return since != lease.Never && now.Sub(since) >= d
}

// lose notes that another writer has deposed the shard.
func (c *custody) lose(now lease.Instant) {
	if has(c.opened, lastingTenure, now) {
		c.deposed = 0
	}
	c.rest = now.Add(min(calmFirst<<min(c.deposed, 16), calmMost))
	c.deposed++
}

// end notes that the shard is gone.
func (c *custody) end() { c.shard, c.ending, c.ceding = nil, false, false }
