package simulation

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// lead campaigns for the leadership of an election, and increments a counter as the leader. While it leads, everybody
// sees what it has published.
func (x *worker) lead() {
	ttl, value := x.length(), fmt.Sprint(x.dice.Uint64())
	campaigning, cancel := x.acquiring()
	defer cancel()
	l, err := x.client.Campaign(campaigning, x.led.name, value, holdfast.TTL(ttl), x.waits())
	if err != nil {
		x.refused(x.led, err)
		return
	}
	x.count("elected")
	x.acquired(x.led, l, false)
	x.increment([]use{under(x.led, l)}, func() {
		if x.chance(2) {
			x.proclaim(l)
		}
		pass(x.upTo(2 * ttl))
	})
	_ = x.take(x.led, l.Token())
	x.ends("resign", l.Resign)
}

// proclaim publishes another value, and checks that it is shown.
func (x *worker) proclaim(l *holdfast.Leadership) {
	ctx, cancel := context.WithTimeout(x.ctx, 5*time.Second)
	defer cancel()
	value := fmt.Sprint(x.dice.Uint64())
	if err := l.Proclaim(ctx, value); err != nil {
		x.count("proclaim: " + outcomeOf(err))
		return
	}
	leader, err := x.client.Leader(ctx, x.led.name)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.tally["proclaimed"]++
	if err == nil && x.led.holds(l) && (leader.Token != l.Token() || leader.Value != value) {
		x.note(fmt.Errorf("%v leads with the value %q, and everybody sees %v, with %q", l, value, leader, leader.Value))
	}
}
