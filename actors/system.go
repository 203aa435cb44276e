package actors

import (
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"
)

// System is the actor system that the shards of a node run in. One per process is enough.
type System struct{ system *actor.ActorSystem }

// NewSystem starts an actor system that logs to log.
func NewSystem(log *slog.Logger) *System {
	return &System{actor.NewActorSystem(
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(quiet{log.Handler()}) }),
		actor.WithDeadLetterRequestLogging(false),
	)}
}

// Close ends the system. Its shards must be closed before, and it may be called once.
func (s *System) Close() { s.system.Shutdown() }
