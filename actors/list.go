package actors

import (
	"cmp"
	"context"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

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
	answer, err := inquire(ctx, s, "is busy", func(result chan<- listed) any {
		return &listing{scan: ledger.NewScan(l), ctx: ctx, result: result}
	})
	return answer.Found, cmp.Or(err, answer.err)
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

// list makes one step of a listing, unless it began in another ledger.
func (s *shardActor) list(ctx actor.Context, l *listing) {
	switch {
	case l.ctx.Err() != nil: // the result is not awaited any more
	case s.term == nil || l.ledger != nil && l.ledger != s.term.ledger:
		l.result <- listed{err: fmt.Errorf("%w: %s", ErrUnavailable, s.unavailable(s.why))}
	case s.term.list(l):
		l.result <- listed{Found: l.scan.Result()}
	default:
		ctx.Send(ctx.Self(), l) // behind the requests that have come meanwhile
	}
}

// list makes one step of a listing, and reports whether it is done.
func (t *term) list(l *listing) (done bool) {
	l.ledger = t.ledger
	now := t.shard.cfg.Clock.Now()
	return l.scan.Step(t.ledger, t.sessions.Sessions, now.Instant, func(resource string) []*messages.Waiter {
		return t.activations.queue(resource, now)
	})
}
