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
	"github.com/holdfast-io/holdfast/actors/publish"
	"github.com/holdfast-io/holdfast/messages"
)

// Why a shard does not take a request. Nothing has happened.
var (
	// ErrOverloaded: it has as many requests on their way as it may.
	ErrOverloaded = errors.New("too many requests are on their way through the shard")
	// ErrUnavailable: it is not open.
	ErrUnavailable = errors.New("unavailable")
	// ErrEnded is an [ErrUnavailable]: it has ended, and stays so.
	ErrEnded = fmt.Errorf("%w: the shard has left this node; nothing happened, try again", ErrUnavailable)
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

	// Yields: a shard that another writer has deposed ends, as if it had been handed over, instead of
	// being opened again: whoever decides who owns it has to start it anew. Decisions that were not
	// stored are refused, for they had an order that cannot be restored. A shard that has lost its
	// journal for any other reason is opened again: nobody else may have it.
	Yields bool
	// Pass gets the requests that a shard which is handed over, or yields, leaves undecided: first
	// those who waited, in the order of each resource and with what is left of their waits, then those
	// who came later. It is called by the shard's goroutine just before the shard is [Ended], and must
	// not block. nil: they are refused.
	Pass func(*Request)
	// Fault returns what keeps this node from storing; refusals name such a fault. It must not block. nil: it
	// is not known.
	Fault func() error
	// Changed is called when Standing has changed, from any goroutine; it must not block. nil for
	// nobody.
	Changed func()
}

// Shard is a shard that this node owns, or tries to. It is safe for concurrent use.
type Shard struct {
	cfg      ShardConfig
	system   *actor.ActorSystem
	pid      *actor.PID
	requests admission
	standing atomic.Int32
	epoch    atomic.Uint64
	// records counts those that were read to open the shard.
	records atomic.Uint64
	// passing: what the shard leaves is passed on. It outlives a panic of the actor.
	passing atomic.Bool
	// actors counts the resources that have an actor.
	actors atomic.Int64
	// lateTokens counts the grants whose token is at or above [messages.WarnToken].
	lateTokens atomic.Uint64
	// events is what publishes for the present tenure, or for the last one.
	events      atomic.Pointer[publish.Publisher]
	eventCounts publish.Counts
	// work counts the goroutines that talk to the journal.
	work   sync.WaitGroup
	tried  chan struct{} // closed when the first attempt to open has ended, as err says
	once   sync.Once
	err    error
	closed chan struct{} // closed when it has ended, with leftOver as the reason why answers are missing
	// leftOver is nil if all was answered or passed.
	leftOver error
}

// StartShard starts a shard, which begins at once to open its journal, and tries again for as long
// as it cannot.
func (s *System) StartShard(cfg ShardConfig) *Shard {
	cfg.Tuning = cfg.Tuning.WithDefaults()
	cfg.Log = cfg.Log.With("shard", cfg.Shard)
	sh := &Shard{cfg: cfg, system: s.system, tried: make(chan struct{}), closed: make(chan struct{})}
	sh.requests.quota = cfg.Quota
	sh.pid = s.system.Root.Spawn(actor.PropsFromProducer(
		func() actor.Actor { return &shardActor{Shard: sh} },
		actor.WithMailbox(actor.UnboundedLockfree()),
		actor.WithGuardian(actor.NewRestartingStrategy()),
		actor.WithSupervisor(actor.NewRestartingStrategy()),
	))
	return sh
}

// Tell hands the shard a request. It does not block. [ErrOverloaded]: it was not taken, nothing
// happened. [ErrEnded]: the same, and it will be no other. A request that was taken is answered through
// the outbox or passed on, now or much later, unless the node dies.
func (s *Shard) Tell(r *Request) error {
	if err := s.requests.enter(s.cfg.Tuning.MaxPending); err != nil {
		return fmt.Errorf("shard %d: %w", s.cfg.Shard, err)
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
	c := EventCounts{Published: s.eventCounts.Published(), Lost: s.eventCounts.Lost()}
	if p := s.events.Load(); p != nil {
		c.Behind = p.Behind()
	}
	return c
}

// Bounce tells the shard that the grant of this token has reached nobody.
func (s *Shard) Bounce(resource string, token messages.Token) {
	s.system.Root.Send(s.pid, &Request{Resource: resource, Event: lease.Bounce{Token: token}})
}

// Prove lets an open shard append a commit without changes, unless an append is on its way anyway. A
// shard that was deposed learns so: for whoever hears of another owner, or was paused.
func (s *Shard) Prove() { s.system.Root.Send(s.pid, prove{}) }

// Opened waits until the first attempt to open the shard has ended and returns how. After an error
// the shard goes on trying. [ErrEnded]: it has ended before.
func (s *Shard) Opened(ctx context.Context) error {
	select {
	case <-s.tried:
		return s.err
	case <-s.closed:
		return fmt.Errorf("shard %d: %w", s.cfg.Shard, ErrEnded)
	case <-ctx.Done():
		return fmt.Errorf("shard %d is not open yet: %w", s.cfg.Shard, context.Cause(ctx))
	}
}

// Progress returns how many records of its journal the shard has read in order to open. It grows as long
// as the opening progresses: a record that a later attempt reads again is not counted again. It is safe
// for concurrent use.
func (s *Shard) Progress() uint64 { return s.records.Load() }

func (s *Shard) attempted(err error) {
	s.once.Do(func() {
		s.err = err
		close(s.tried)
	})
}
