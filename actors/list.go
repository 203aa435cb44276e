package actors

import (
	"context"
	"fmt"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/ledger"
	"github.com/holdfast-io/holdfast/messages"
)

type (
	// Listing asks a shard for leases that are held.
	Listing = ledger.Query
	// Listed is the result.
	Listed = ledger.Found
)

// List returns the leases that are held as far as is confirmed, with the queues as they are. They are
// in the order of their resources' hashes: that order stays the same whatever happens in the
// meantime, and going on from a resource costs no more than beginning. [ErrUnavailable]: the shard is
// not open.
func (s *Shard) List(ctx context.Context, l Listing) (Listed, error) {
	result := make(chan listed, 1)
	s.system.Root.Send(s.pid, &listing{scan: ledger.NewScan(l), ctx: ctx, result: result})
	select {
	case r := <-result:
		return r.Found, r.err
	case <-s.ended:
		return Listed{}, fmt.Errorf("shard %d: %w", s.cfg.Shard, ErrEnded)
	case <-ctx.Done():
		return Listed{}, fmt.Errorf("%w: shard %d is busy: %w", ErrUnavailable, s.cfg.Shard, context.Cause(ctx))
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
	ledger.Found
	err error
}

// isFor reports whether the listing can go on in the ledger: it began there, or has yet to begin.
func (l *listing) isFor(led *ledger.Ledger) bool {
	return l.ledger == nil || l.ledger == led
}

// step makes one step, and sends the result if it is the last one. waiting returns the queue of a resource.
func (l *listing) step(
	led *ledger.Ledger, sessions *lease.Sessions, now lease.Time, waiting func(resource string) []*messages.Waiter,
) (done bool) {
	l.ledger = led
	if !l.scan.Step(led, sessions, now.Instant, waiting) {
		return false
	}
	l.result <- listed{Found: l.scan.Result()}
	return true
}

func (l *listing) refuse(why string) {
	l.result <- listed{err: fmt.Errorf("%w: %s", ErrUnavailable, why)}
}
