package actors

import (
	"cmp"
	"context"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

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
// meantime, and going on from a resource costs no more than beginning. By a ranking it returns the top of that.
// [ErrUnavailable]: the shard is not open.
func (s *Shard) List(ctx context.Context, l Listing) (Listed, error) {
	answer, err := inquire(ctx, s, "is busy", func(result chan<- listed) any {
		return &listing{pass: newPass(l), ctx: ctx, result: result}
	})
	return answer.Found, cmp.Or(err, answer.err)
}

// pass answers a listing in steps. Each step is short, so that a shard with a million leases goes on deciding.
type pass interface {
	// step looks at a part of a term, and reports whether it was the last one.
	step(t *term, now lease.Time) (done bool)
	result() Listed
}

func newPass(l Listing) pass {
	switch l.By {
	case messages.Ranking_UNRANKED:
		return ledgerPass{ledger.NewScan(l)}
	case messages.Ranking_HOLD:
		return ledgerPass{ledger.NewLongest(l)}
	default:
		return newContended(l)
	}
}

// ledgerPass looks at the leases of a ledger.
type ledgerPass struct {
	ledgerSteps
}

// ledgerSteps are [ledger.Scan] and [ledger.Longest].
type ledgerSteps interface {
	Step(*ledger.Ledger, *lease.Sessions, lease.Instant, ledger.Queues) (done bool)
	Result() Listed
}

func (p ledgerPass) step(t *term, now lease.Time) (done bool) {
	return p.Step(t.ledger, t.sessions.Sessions, now.Instant, func(resource string) *messages.Queue {
		return t.activations.queue(resource, now)
	})
}

func (p ledgerPass) result() Listed { return p.Result() }

// listing is a listing under way.
type listing struct {
	pass   pass
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
		l.result <- listed{Found: l.pass.result()}
	default:
		ctx.Send(ctx.Self(), l) // behind the requests that have come meanwhile
	}
}

// list makes one step of a listing, and reports whether it is done.
func (t *term) list(l *listing) (done bool) {
	l.ledger = t.ledger
	return l.pass.step(t, t.shard.cfg.Clock.Now())
}
