package node

import (
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// refusalDelay is how long after its request a tenant receives the refusal for a limit: one that sends the next
	// request when it has the answer sends less often.
	refusalDelay = 250 * time.Millisecond
	// refusalInterval is how often such answers leave, together, which costs a fraction of sending them one by one. It
	// is short, because the answers to others wait behind them.
	refusalInterval = refusalDelay / 25
	// maxDeferred is how many may wait. Further ones leave at once.
	maxDeferred = 1 << 14
)

// deferred are refusals of tenants, which leave later than the answers to others. None is left out: NATS keeps a place
// for each request through an import until it is answered. It is safe for concurrent use.
type deferred struct {
	clock actors.Clock
	send  func(messages.ReplyTo, error)

	mu sync.Mutex
	// waiting are in the order in which they came.
	waiting []deferredRefusal
	// ticking: flush is going to be called.
	ticking, closed bool
}

type deferredRefusal struct {
	to  messages.ReplyTo
	why error
	due lease.Instant
}

func newDeferred(clock actors.Clock, send func(messages.ReplyTo, error)) *deferred {
	return &deferred{clock: clock, send: send}
}

// put lets a refusal leave later.
func (d *deferred) put(to messages.ReplyTo, why error) {
	if !d.add(to, why) {
		d.send(to, why)
	}
}

// add reports whether there was room.
func (d *deferred) add(to messages.ReplyTo, why error) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || len(d.waiting) >= maxDeferred {
		return false
	}
	d.waiting = append(d.waiting, deferredRefusal{to, why, d.clock.Now().Add(refusalDelay)})
	d.tick()
	return true
}

// tick lets flush be called if something waits.
func (d *deferred) tick() {
	if len(d.waiting) > 0 && !d.ticking {
		d.ticking = true
		d.clock.AfterFunc(refusalInterval, d.flush)
	}
}

// flush sends what is due.
func (d *deferred) flush() {
	for _, r := range d.take() {
		d.send(r.to, r.why)
	}
}

func (d *deferred) take() []deferredRefusal {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, n := d.clock.Now().Instant, 0
	for n < len(d.waiting) && (d.closed || d.waiting[n].due <= now) {
		n++
	}
	due := d.waiting[:n]
	if d.waiting = d.waiting[n:]; len(d.waiting) == 0 {
		d.waiting = nil
	}
	d.ticking = false
	d.tick()
	return due
}

// close sends what waits; later refusals leave at once.
func (d *deferred) close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.flush()
}
