package actors

import (
	"context"
	"math/rand/v2"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/ledger"
	"github.com/holdfast-io/holdfast/messages/journal"
)

type (
	// opened reports how an attempt to open a shard has ended.
	opened struct {
		attempt *attempt
		ledger  *ledger.Ledger
		// former is the node that had the shard before; empty if none had.
		former string
		err    error
	}
	// retry says that it is time for the next attempt.
	retry struct{ attempt *attempt }
)

// attempt is one attempt to open a shard.
type attempt struct {
	writer *journal.Writer
	cancel context.CancelFunc
	began  lease.Instant
}

// opener opens a shard, and again after a failure.
type opener struct {
	shard   *Shard
	opening opening
	// attempt is the last one, nil before the first.
	attempt *attempt
	// stopRetry stops the timer for the next attempt, nil if none was set.
	stopRetry func() bool
}

func newOpener(s *Shard) opener { return opener{shard: s, opening: opening{records: &s.records}} }

// begin begins an attempt on a goroutine of its own, which reports to the actor how it has ended.
func (o *opener) begin(self *actor.PID) {
	s := o.shard
	ctx, cancel := context.WithCancel(context.Background())
	a := &attempt{
		writer: &journal.Writer{Node: s.cfg.Node, Incarnation: rand.Uint64()},
		cancel: cancel, began: s.cfg.Clock.Now().Instant,
	}
	o.attempt = a
	s.work.Go(func() {
		l, former, err := o.opening.attempt(ctx, s.cfg, a.writer)
		s.system.Root.Send(self, &opened{attempt: a, ledger: l, former: former, err: err})
	})
}

// succeeded forgets what only further attempts would need.
func (o *opener) succeeded() { o.opening = opening{records: &o.shard.records} }

// later lets the actor begin another attempt after a while.
func (o *opener) later(self *actor.PID) {
	a := o.attempt
	o.cancel()
	o.stopRetry = o.shard.cfg.Clock.AfterFunc(o.shard.cfg.Tuning.ReopenAfter, func() {
		o.shard.system.Root.Send(self, retry{a})
	})
}

// cancel cancels the attempt under way.
func (o *opener) cancel() {
	if o.attempt != nil {
		o.attempt.cancel()
	}
}

func (o *opener) stop() {
	o.cancel()
	if o.stopRetry != nil {
		o.stopRetry()
	}
}
