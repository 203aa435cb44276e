package lease

import (
	"time"

	"github.com/holdfast-io/holdfast/clients/internal/chance"
)

const (
	// minPause and maxPause bound the pauses between the attempts of a renewal, a twelfth of the TTL.
	minPause = 20 * time.Millisecond
	maxPause = 2 * time.Second
	// grid is by how many steps of its TTL renewals are lined up, so that those of many locks leave in
	// few packets.
	grid = 128
	// Coarsest bounds such a step: it has to be well below maxPause, or an attempt that is put off would be
	// due at once.
	Coarsest = 250 * time.Millisecond
)

// Spread is over which time the renewals of leases begin that something else has prolonged together.
func Spread(ttl time.Duration) time.Duration { return min(max(ttl/12, minPause), maxPause) }

// Renewal is an [Estimate], and when its holder asks for more time.
type Renewal struct {
	Estimate
	// origin is where the grid begins, due when the next attempt is sent.
	origin, due time.Time
	// attempts counts those since the last grant, idle those that were to be followed soon.
	attempts, idle int
}

// NewRenewal returns the renewal of a lease that was granted in answer to a request sent then. Leases that are
// to be renewed together have the same origin.
func NewRenewal(e Estimate, sent, origin time.Time) Renewal {
	r := Renewal{Estimate: e, origin: origin}
	r.rest(sent)
	return r
}

// Due is when the next attempt is to be sent.
func (r *Renewal) Due() time.Time { return r.due }

// Attempts is how many were sent since the last grant.
func (r *Renewal) Attempts() int { return r.attempts }

// Resume goes on with a lease that something else has prolonged until a moment. The next attempt is due at another one.
func (r *Renewal) Resume(until, due time.Time) {
	r.until = Later(r.until, until)
	r.attempts, r.idle = 0, 0
	r.lineUp(due)
}

// Sent is [Estimate.Sent]. The next attempt is due after a pause, which limit bounds for the nth attempt, counted
// from 0; nil: only the TTL bounds it.
func (r *Renewal) Sent(id uint64, now time.Time, limit func(n int) time.Duration) {
	pause := Spread(r.asked)
	if limit != nil {
		pause = min(pause, limit(r.attempts))
	}
	r.attempts++
	r.lineUp(now.Add(pause))
	r.Estimate.Sent(id, now)
}

// Granted is [Estimate.Granted]. The next attempt is due in a third of the lease, unless the answer to a later
// one matters yet.
func (r *Renewal) Granted(id uint64, remaining time.Duration, order uint64) (settled []uint64, ok bool) {
	sent, settled, ok := r.Estimate.Granted(id, remaining, order)
	if ok && !r.HasOpen(id) {
		r.attempts, r.idle = 0, 0
		r.rest(sent)
	}
	return settled, ok
}

// Hasten has the next attempt due soon, because the nth one, counted from 0, had no effect.
func (r *Renewal) Hasten(now time.Time, after func(n int) time.Duration) {
	if soon := now.Add(after(r.idle)); soon.Before(r.due) {
		r.due = soon
	}
	r.idle++
}

// rest waits for a third of the TTL after sent, or of what was left when the lease was granted: not less than
// nothing, though a grant may come when its lease is over. It is a little early by chance, so that leases taken
// together are not renewed together.
func (r *Renewal) rest(sent time.Time) {
	lasts := r.until.Sub(sent) + Margin(r.agreed)
	third := max(min(lasts, r.agreed), 0) / 3
	r.lineUp(sent.Add(third - chance.Below(third/16+1)))
}

// lineUp has the next attempt due at the moment on the grid before.
func (r *Renewal) lineUp(at time.Time) {
	step := min(r.agreed/grid, r.asked/grid, Coarsest)
	r.due = r.origin.Add(at.Sub(r.origin).Truncate(step))
}
