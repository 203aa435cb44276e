package actors

import (
	"log/slog"
	"slices"

	"github.com/asynkron/protoactor-go/actor"
)

// System is the actor system that the shards of a node run in. One per process is enough.
type System struct{ system *actor.ActorSystem }

// NewSystem starts an actor system that logs to log.
func NewSystem(log *slog.Logger) *System {
	s := actor.NewActorSystem(
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(quiet{log.Handler()}) }),
		actor.WithDeadLetterRequestLogging(false),
	)
	joinMaps(s.ProcessRegistry.LocalPIDs)
	return &System{s}
}

// registryMaps is how many maps with 32 parts each the registry of actors has. It divides the 1024 of Proto.Actor, whose
// parts take 12 MB once each has had an actor, and never less.
const registryMaps = 8

// joinMaps leaves the registry the first maps, with what is in all of them. Nothing else may use it meanwhile.
func joinMaps(registry *actor.SliceMap) {
	all := registry.LocalPIDs
	registry.LocalPIDs = slices.Clone(all[:registryMaps])
	for i, m := range all[registryMaps:] {
		m.IterCb(registry.LocalPIDs[i%registryMaps].Set)
	}
}

// Close ends the system. Its shards must be closed before, and it may be called once.
func (s *System) Close() { s.system.Shutdown() }

// StartShard starts a shard, which begins at once to open its journal, and tries again until it can.
func (s *System) StartShard(cfg ShardConfig) *Shard {
	cfg.Tuning = cfg.Tuning.WithDefaults()
	if cfg.Audit == nil {
		cfg.Audit = cfg.Log
	}
	cfg.Log, cfg.Audit = cfg.Log.With("shard", cfg.Shard), cfg.Audit.With("shard", cfg.Shard)
	sh := newShard(cfg, s.system)
	sh.pid = s.system.Root.Spawn(actor.PropsFromProducer(
		func() actor.Actor { return newShardActor(sh) },
		actor.WithMailbox(actor.UnboundedLockfree()),
		actor.WithDispatcher(sh.dispatcher),
		actor.WithGuardian(actor.NewRestartingStrategy()),
		actor.WithSupervisor(actor.NewRestartingStrategy()),
	))
	return sh
}
