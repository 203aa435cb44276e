package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// Why a shard does not take a request. Nothing has happened.
var (
	// ErrOverloaded: it has as many requests on their way as it may.
	ErrOverloaded = errors.New("too many requests are on their way through the shard")
	// ErrUnavailable: it is not open.
	ErrUnavailable = errors.New("unavailable")
)

// ShardConfig is what a shard is made of.
type ShardConfig struct {
	Shard   uint32
	Node    string
	Journal Journal
	Clock   Clock
	Outbox  Outbox
	// Publisher gets the events; nil if none are published, and none are owed later.
	Publisher Publisher
	Log       *slog.Logger
	Tuning    Tuning
	// Quota is what the shards of a node share; nil for no limits.
	Quota *Quota
}

// Shard is a shard that this node owns, or tries to. It is safe for concurrent use.
type Shard struct {
	cfg    ShardConfig
	system *actor.ActorSystem
	pid    *actor.PID
	// pending counts the requests that were taken in and neither answered nor queued.
	pending atomic.Int64
	// actors counts the resources that have an actor.
	actors atomic.Int64
	// lateTokens counts the grants whose token is at or above [messages.WarnToken].
	lateTokens atomic.Uint64
	// events is what publishes for the present tenure, or for the last one.
	events atomic.Pointer[events]
	// published counts the events that were, lost the commits of which none could be.
	published, lost atomic.Uint64
	// work counts the goroutines that talk to the journal.
	work   sync.WaitGroup
	tried  chan struct{} // closed when the first attempt to open has ended, as err says
	once   sync.Once
	err    error
	closed chan struct{}
}

// StartShard starts a shard, which begins at once to open its journal, and tries again for as long
// as it cannot.
func (s *System) StartShard(cfg ShardConfig) *Shard {
	cfg.Tuning = cfg.Tuning.WithDefaults()
	cfg.Log = cfg.Log.With("shard", cfg.Shard)
	sh := &Shard{cfg: cfg, system: s.system, tried: make(chan struct{}), closed: make(chan struct{})}
	sh.pid = s.system.Root.Spawn(actor.PropsFromProducer(
		func() actor.Actor { return &shardActor{Shard: sh} },
		actor.WithMailbox(actor.UnboundedLockfree()),
		actor.WithGuardian(actor.NewRestartingStrategy()),
		actor.WithSupervisor(actor.NewRestartingStrategy()),
	))
	return sh
}

// Tell hands the shard a request. It does not block. [ErrOverloaded]: it was not taken, nothing
// happened. A request that was taken is answered through the outbox, now or much later, unless the
// node dies.
func (s *Shard) Tell(r *Request) error {
	if s.pending.Add(1) > int64(s.cfg.Tuning.MaxPending) {
		s.pending.Add(-1)
		return fmt.Errorf("shard %d: %w (%d)", s.cfg.Shard, ErrOverloaded, s.cfg.Tuning.MaxPending)
	}
	s.system.Root.Send(s.pid, r)
	return nil
}

// Actors returns how many resources have an actor now.
func (s *Shard) Actors() int64 { return s.actors.Load() }

// LateTokens returns how many grants had a token at or above [messages.WarnToken].
func (s *Shard) LateTokens() uint64 { return s.lateTokens.Load() }

// EventCounts is how far a shard has come with its events.
type EventCounts struct {
	// Published counts events, those that were published twice twice.
	Published uint64
	// Behind is how many commits have yet to be published, Lost how many never will be.
	Behind, Lost uint64
}

// Events returns how far the shard has come with its events.
func (s *Shard) Events() EventCounts {
	c := EventCounts{Published: s.published.Load(), Lost: s.lost.Load()}
	if e := s.events.Load(); e != nil {
		through := e.through.Load()
		c.Behind = e.latest.Load() - through
	}
	return c
}

// Bounce tells the shard that the grant of this token has reached nobody.
func (s *Shard) Bounce(resource string, token messages.Token) {
	s.system.Root.Send(s.pid, &Request{Resource: resource, Event: lease.Bounce{Token: token}})
}

// Opened waits until the first attempt to open the shard has ended and returns how. After an error
// the shard goes on trying.
func (s *Shard) Opened(ctx context.Context) error {
	select {
	case <-s.tried:
		return s.err
	case <-ctx.Done():
		return fmt.Errorf("shard %d is not open yet: %w", s.cfg.Shard, context.Cause(ctx))
	}
}

// Close takes no more requests, lets those on their way be answered, and ends the shard. When ctx
// ends before, the rest is left without an answer.
func (s *Shard) Close(ctx context.Context) error {
	s.system.Root.Send(s.pid, closeShard{})
	var err error
	select {
	case <-s.closed:
	case <-ctx.Done():
		err = fmt.Errorf("shard %d: requests were left without an answer: %w", s.cfg.Shard, context.Cause(ctx))
	}
	s.stop()
	return err
}

// stop ends the actor and all that it has started.
func (s *Shard) stop() {
	for s.system.Root.StopFuture(s.pid).Wait() != nil { // the library gives up after ten seconds
		s.cfg.Log.Warn("the shard has not stopped yet")
	}
	s.work.Wait()
}

func (s *Shard) attempted(err error) {
	s.once.Do(func() {
		s.err = err
		close(s.tried)
	})
}
