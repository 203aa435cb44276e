package actors

import (
	"context"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

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
	case <-s.closed:
		return nil, false, fmt.Errorf("shard %d: %w", s.cfg.Shard, ErrEnded)
	case <-ctx.Done():
		return nil, false, fmt.Errorf("%w: shard %d is busy: %w", ErrUnavailable, s.cfg.Shard, context.Cause(ctx))
	}
}

type (
	// listing is a listing under way.
	listing struct {
		scan   *ledger.Scan
		ctx    context.Context
		result chan<- listed
		// tenure is the one in which it began, nil before.
		tenure *tenure
	}
	listed struct {
		leases []*messages.Lease
		more   bool
		err    error
	}
)

// list makes one step of a listing, and sends the rest behind the requests that have come meanwhile.
func (s *shardActor) list(ctx actor.Context, l *listing) {
	switch {
	case l.ctx.Err() != nil:
		return // the answer is not awaited any more
	case s.tenure == nil || l.tenure != nil && l.tenure != s.tenure:
		l.result <- listed{err: fmt.Errorf("%w: %s", ErrUnavailable, s.unavailable(s.why))}
		return
	}
	l.tenure = s.tenure
	if !l.scan.Step(s.tenure.ledger, s.cfg.Clock.Now().Instant) {
		ctx.Send(ctx.Self(), l)
		return
	}
	leases, more := l.scan.Result()
	l.result <- listed{leases: leases, more: more}
}
