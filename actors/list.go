package actors

import (
	"context"
	"fmt"

	"github.com/holdfast-io/holdfast/actors/ledger"
	"github.com/holdfast-io/holdfast/messages"
)

// Listing asks a shard for leases that are held.
type Listing = ledger.Query

// List returns the leases that are held as far as is confirmed, and whether there are more. They are
// in the order of their resources' hashes: that order stays the same whatever happens in the
// meantime, and going on from a resource costs no more than beginning. [ErrUnavailable]: the shard is
// not open.
func (s *Shard) List(ctx context.Context, l Listing) (leases []*messages.Lease, more bool, err error) {
	result := make(chan listed, 1)
	s.system.Root.Send(s.pid, &listing{scan: ledger.NewScan(l), ctx: ctx, result: result})
	select {
	case r := <-result:
		return r.leases, r.more, r.err
	case <-s.ended:
		return nil, false, fmt.Errorf("shard %d: %w", s.cfg.Shard, ErrEnded)
	case <-ctx.Done():
		return nil, false, fmt.Errorf("%w: shard %d is busy: %w", ErrUnavailable, s.cfg.Shard, context.Cause(ctx))
	}
}

// listing is a listing under way.
type listing struct {
	scan   *ledger.Scan
	ctx    context.Context
	result chan<- listed
	// ledger is the one that it reads, nil before its first step.
	ledger *ledger.Ledger
}

// listed is the result of a listing.
type listed struct {
	leases []*messages.Lease
	more   bool
	err    error
}

// isFor reports whether the listing can go on in the ledger: it began there, or has yet to begin.
func (l *listing) isFor(led *ledger.Ledger) bool {
	return l.ledger == nil || l.ledger == led
}

// step makes one step, and sends the result if it is the last one.
func (l *listing) step(led *ledger.Ledger, clock Clock) (done bool) {
	l.ledger = led
	if !l.scan.Step(led, clock.Now().Instant) {
		return false
	}
	leases, more := l.scan.Result()
	l.result <- listed{leases: leases, more: more}
	return true
}

func (l *listing) refuse(why string) {
	l.result <- listed{err: fmt.Errorf("%w: %s", ErrUnavailable, why)}
}
