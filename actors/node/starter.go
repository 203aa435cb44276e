package node

import (
	"context"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node/routing"
)

// starter starts the node's shards.
type starter struct {
	cfg    Config
	system *actors.System
	outbox *outbox
	quota  *actors.Quota
	// generation is that of the shards, and journal returns the bucket of each.
	generation *generation
	journal    func(shard uint32) actors.Journal
	// statistics counts what is started.
	statistics *statistics
	// voided is as in [actors.ShardConfig].
	voided func(ctx context.Context, generation uint32) error
}

// start starts a shard that no other node can take.
func (s *starter) start(shard uint32) *actors.Shard { return s.launch(s.config(shard)) }

// startYielding starts a shard that other nodes may take.
func (s *starter) startYielding(shard uint32, changed func()) *actors.Shard {
	cfg := s.config(shard)
	cfg.Changed = changed
	cfg.Pass = func(r *actors.Request) { s.giveBack(shard, r) }
	return s.launch(cfg)
}

func (s *starter) launch(cfg actors.ShardConfig) *actors.Shard {
	shard := s.system.StartShard(cfg)
	s.statistics.add(shard)
	return shard
}

func (s *starter) config(shard uint32) actors.ShardConfig {
	cfg := actors.ShardConfig{
		Shard: shard, Node: s.cfg.Name, Journal: s.journal(shard), Clock: s.cfg.Clock,
		Outbox: s.outbox, Prober: s.outbox, Publisher: newPublisher(s.cfg), Log: s.cfg.Log, Tuning: s.cfg.Tuning,
		Quota:  s.quota,
		Voided: s.voided,
		Fault:  s.cfg.Fault, Audit: s.cfg.Audit, Observer: s.cfg.Observer,
	}
	if s.cfg.Tracer != nil {
		cfg.Witness = witness
	}
	return cfg
}

// giveBack routes a request that the shard has not decided to the shard's next owner.
func (s *starter) giveBack(shard uint32, r *actors.Request) {
	switch e, ok, err := routing.FromRequest(s.generation.Shard(shard), r); {
	case err != nil:
		s.cfg.Log.Error("request lost on its way to the shard's next owner", "shard", shard, "error", err)
	case ok:
		if of := &e.ReplyTo.Origin; of.Received != 0 {
			of.Received = time.Duration(s.cfg.Clock.Now().Instant) // another node would count from here, too
		}
		s.generation.routers[shard].Return(e)
	}
}
