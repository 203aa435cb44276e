package simulation

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// loss is how a lock is held back that its holder does not release.
type loss struct {
	owner string
	token holdfast.Token
	// until is when the delay is over at the earliest; zero: there is none.
	until time.Time
	// confirm: it has to be confirmed, unless a delay is over. confirmed: somebody has tried to.
	confirm, confirmed bool
}

// endsWith returns what is wrong if another lock is granted. A lock that its owner has taken back, and nobody has heard
// of, may be between the two.
func (s *loss) endsWith(name string, next believer) error {
	switch l := next.(*holdfast.Lock); {
	case l.Token() > s.token+1, s.confirmed, !s.confirm && l.Owner() == s.owner,
		!s.until.IsZero() && !time.Now().Before(s.until):
		return nil
	default:
		return fmt.Errorf("%s: token %d is lost and holds the lock back until %v, unless that is confirmed; at %v %v is held",
			name, s.token, s.until, time.Now(), l)
	}
}

// reserve acquires a lock that is held back when it is lost, and mostly loses it.
func (x *worker) reserve() {
	ttl, c := x.length(), x.reserved
	s := &loss{confirm: x.chance(2)}
	var options []holdfast.AcquireOption
	delay := time.Second + x.upTo(4*time.Second)
	if s.confirm {
		options = append(options, holdfast.ConfirmLoss())
	}
	if delayed := !s.confirm || x.chance(2); delayed {
		options = append(options, holdfast.Delay(delay))
	} else {
		delay = 0
	}
	l := x.acquire(c, ttl, false, append(options, holdfast.NoRenewal())...)
	if l == nil {
		return
	}
	s.owner, s.token = l.Owner(), l.Token()
	if delay > 0 {
		s.until = l.Deadline().Add(delay)
	}
	x.increment([]use{under(c, l)}, func() { pass(x.upTo(ttl)) })
	if x.chance(4) {
		x.release(c, l)
		return
	}
	x.mu.Lock()
	if c.holds(l) {
		c.loss = s
		x.tally["held back"]++
	}
	x.mu.Unlock()
	<-l.Lost() // a client that is closed before releases it, also at the very moment of its deadline
}

// confirm confirms the loss that holds a lock back, if there is one.
func (x *worker) confirm(c *counter) {
	ctx, cancel := context.WithTimeout(x.ctx, 10*time.Second)
	defer cancel()
	s, err := x.client.Get(ctx, c.name)
	if err != nil || s.Lost == nil || x.chance(3) {
		return
	}
	x.mu.Lock()
	if c.loss != nil && c.loss.token == s.Lost.Token {
		c.loss.confirmed = true
	}
	x.mu.Unlock()
	if err := x.client.Confirm(ctx, c.name, s.Lost.Token, "a worker", "it has looked"); err != nil {
		x.count("confirm: " + outcomeOf(err))
		return
	}
	x.count("confirmed")
}
