package simulation

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// counter is a resource that workers increment under a lock. It admits the fences of a guard: a write with a lower one
// than it has seen is refused, and a read shows it the fence first. So no increment is lost, and how many were
// acknowledged is what it says.
type counter struct {
	name         string
	mark         holdfast.Token
	value        int
	acknowledged int
	refused      int
	// holders are who believes with reason that it holds the lock.
	holders []holder
	// taken are the tokens of those from whom it was taken, who may not know that yet.
	taken []holdfast.Token
	// inBlocks: its leases may have many tokens, and each of them is one use's.
	inBlocks bool
	// broken are the tokens of leases with blocks that were broken, and breaking counts those of which they are not known.
	broken   []span
	breaking int
	// latest is the highest token of a holder that had reason to believe.
	latest holdfast.Token
	// last is the last use of a lease that may be cached, by its client, and until when the lock rests.
	last struct {
		client       *holdfast.Client
		ended, rests time.Time
	}
	// loss is what becomes of the lock when its holder is lost; nil: it is free then.
	loss *loss
}

// holder is who believes that it holds a lock: alone, or together with others that share it.
type holder struct {
	believer
	shares bool
}

// believer is a lock, or a leadership.
type believer interface {
	Valid() bool
	Token() holdfast.Token
}

// use is a counter under its lock, with the fence that the guard of the counter is to see.
type use struct {
	*counter
	by    believer
	fence func() holdfast.Token
}

// under returns the use of a counter whose guard sees the token of the lock.
func under(c *counter, l believer) use { return use{c, l, l.Token} }

// acquired checks that the last holder does not believe any more that it holds the lock: its client has said so before
// the service has granted the lock to another one. Only who shares the lock has others beside it that share it too.
func (g *workers) acquired(c *counter, l believer, shares bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if slices.Contains(c.taken, l.Token()) || c.isTaken(l.Token()) {
		return // the answer was on its way when another one broke the lock, or the use has begun before that was heard of
	}
	if c.breaking > 0 {
		return
	}
	if c.inBlocks && l.Valid() {
		if l.Token() <= c.latest {
			g.note(fmt.Errorf("%s: token %d is held, behind token %d", c.name, l.Token(), c.latest))
		}
		c.latest = max(c.latest, l.Token())
	}
	for _, h := range c.holders {
		if h.Valid() && (!h.shares || !shares) && (h.Token() < l.Token() || l.Valid()) {
			g.note(fmt.Errorf("%s: token %d is held, and the holder of token %d believes that it holds the lock", c.name,
				l.Token(), h.Token()))
		}
	}
	c.holders = slices.DeleteFunc(c.holders, func(h holder) bool { return !h.Valid() })
	if l.Valid() {
		c.holders = append(c.holders, holder{l, shares})
	}
	if c.loss != nil && c.loss.token < l.Token() {
		g.note(c.loss.endsWith(c.name, l))
		c.loss = nil
	}
}

// take takes the lock from the holder with the token, and returns it; nil: it has yet to learn that it holds the lock.
func (g *workers) take(c *counter, token holdfast.Token) (l believer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c.taken = append(c.taken, token)
	c.holders = slices.DeleteFunc(c.holders, func(h holder) bool {
		if h.Token() == token {
			l = h.believer
		}
		return h.Token() == token
	})
	return l
}

// share lets a holder have others beside it that share the lock.
func (g *workers) share(c *counter, l believer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, h := range c.holders {
		c.holders[i].shares = h.shares || h.believer == l
	}
}

// holds reports whether a holder believes that it holds the lock, and nobody has taken it away. It is called with mu
// held.
func (c *counter) holds(l believer) bool {
	return c.breaking == 0 && slices.ContainsFunc(c.holders, func(h holder) bool { return h.believer == l }) && l.Valid()
}

// admit reports whether the fence is not lower than one before. It is called with mu held.
func (g *workers) admit(u use) bool {
	fence := u.fence()
	if fence >= u.mark {
		u.mark = fence
		return true
	}
	if u.holds(u.by) {
		g.note(fmt.Errorf("%s: the guard refuses fence %d, whose holder believes that it holds the lock, after %d", u.name,
			fence, u.mark))
	}
	u.refused++
	return false
}

// increment reads the counters, lets time pass by work, and writes what it has read, and one more. It reports whether
// the guards have admitted that it reads.
func (g *workers) increment(uses []use, work func()) bool {
	var admitted []use
	var before []int
	g.mu.Lock()
	for _, u := range uses {
		if g.admit(u) {
			admitted, before = append(admitted, u), append(before, u.value)
		}
	}
	g.mu.Unlock()
	if len(admitted) == 0 {
		return false
	}
	work()
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, u := range admitted {
		if g.admit(u) {
			u.value = before[i] + 1
			u.acknowledged++
		}
	}
	return true
}

// read reads a counter twice: who shares its lock sees no increment in between.
func (g *workers) read(u use, work func()) {
	g.mu.Lock()
	admitted, before := g.admit(u), u.value
	g.mu.Unlock()
	if !admitted {
		return
	}
	work()
	g.mu.Lock()
	defer g.mu.Unlock()
	if u.holds(u.by) && u.value != before {
		g.note(fmt.Errorf("%s: it was %d and is %d while a reader holds token %d", u.name, before, u.value, u.by.Token()))
	}
}
