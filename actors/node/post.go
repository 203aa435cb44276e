package node

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
)

// holdLimit is how long a request waits for somebody to own its shard: as long as it takes to notice that
// the last owner is gone.
const holdLimit = silenceLimit

// carrier is what becomes of a request. None of it blocks.
type carrier interface {
	// tell hands it to a shard of this node.
	tell(s *actors.Shard, l letter) error
	// forward sends it to the process that owns the shard.
	forward(to uint64, l letter) error
	// refuse answers that nothing happened, because of err.
	refuse(l letter, err error)
	now() lease.Instant
}

// post is where the requests for one shard go: to the shard, if it is open here; to the node that owns it;
// or, while nobody does, into a room where they wait a little. It is safe for concurrent use.
type post struct {
	carrier
	shard uint32
	room  int // how many may wait

	mu    sync.RWMutex
	here  *actors.Shard // nil if it is not open here
	there uint64        // who else owns it; 0 if nobody is known
	// passed were given back by a shard, and go before those that came since.
	passed, came []letter
}

// take takes a request in. After an error nothing has happened.
func (p *post) take(l letter) error {
	p.mu.RLock()
	done, err := p.deliver(l)
	p.mu.RUnlock()
	if done {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if done, err := p.deliver(l); done {
		return err
	}
	if len(p.came) >= p.room {
		return fmt.Errorf("shard %d: %w (%d)", p.shard, actors.ErrOverloaded, p.room)
	}
	l.held = p.now()
	p.came = append(p.came, l)
	return nil
}

// pass takes back a request that a shard here had. There are no more of them than the shard was allowed.
func (p *post) pass(l letter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.held = p.now()
	p.passed = append(p.passed, l)
}

// deliver hands a letter on, if there is somebody to take it. One that was sent on too often stays until
// the nodes agree; a shard that has ended takes none.
func (p *post) deliver(l letter) (done bool, err error) {
	switch {
	case p.here != nil:
		err := p.tell(p.here, l)
		return !errors.Is(err, actors.ErrEnded), err
	case p.there != 0 && l.hops < maxHops:
		return true, p.forward(p.there, l)
	default:
		return false, nil
	}
}

// lead says where requests go from now on: to here, else to there, else they wait.
func (p *post) lead(here *actors.Shard, there uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	same := here != nil && here == p.here
	p.here, p.there = here, there
	// What a shard has given back must not go to it again, behind the others that it has yet to give.
	if same || here == nil && there == 0 || len(p.passed)+len(p.came) == 0 {
		return
	}
	now := p.now()
	passed, came := p.passed, p.came
	p.passed, p.came = nil, nil
	for _, l := range passed {
		p.passed = p.release(p.passed, l, now)
	}
	for _, l := range came {
		p.came = p.release(p.came, l, now)
	}
}

// release delivers a letter that has waited, or keeps it.
func (p *post) release(kept []letter, l letter, now lease.Instant) []letter {
	done, err := p.deliver(l.after(now.Sub(l.held)))
	switch {
	case !done:
		return append(kept, l)
	case err != nil:
		p.refuse(l, err)
	}
	return kept
}

// expire refuses those that have waited for so long or longer.
func (p *post) expire(limit time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passed, p.came = p.fresh(p.passed, limit), p.fresh(p.came, limit)
}

func (p *post) fresh(letters []letter, limit time.Duration) []letter {
	now, n := p.now(), 0
	for n < len(letters) && now.Sub(letters[n].held) >= limit {
		p.refuse(letters[n], fmt.Errorf("%w: shard %d has no owner just now; nothing happened, try again", actors.ErrUnavailable, p.shard))
		n++
	}
	return letters[n:]
}

// shardHere returns the shard that takes requests here, nil if none does.
func (p *post) shardHere() *actors.Shard {
	here, _ := p.owner()
	return here
}

// waiting returns how many wait.
func (p *post) waiting() int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return len(p.passed) + len(p.came)
}

// owner returns where requests go.
func (p *post) owner() (here *actors.Shard, there uint64) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.here, p.there
}
