package actors

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/publish"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
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
	// Prober finds out whether the clients of sessions are connected, and takes notices to them; nil: no session ends
	// because its client is not connected, and there are no notices.
	Prober Prober
	// Observer receives what the shard does; nil: nobody does.
	Observer Observer
	// Witness returns one that sees the decisions of a new term; nil: nobody does.
	Witness func() Witness
	Log     *slog.Logger
	// Audit receives what operators did; nil: Log does.
	Audit  *slog.Logger
	Tuning Tuning
	// Quota counts for all shards of a node; nil: this shard counts for itself.
	Quota *Quota

	// Pass gets the requests that a shard which is handed over, or deposed, leaves undecided: first the
	// queued ones, in the order of each resource and with what is left of their waits, then those that
	// came later. The shard's goroutine calls it just before the shard is [Ended]; it must not block. nil:
	// no other node can take the shard, and they are refused.
	//
	// A shard that another writer has deposed ends then, as if it had been handed over, instead of being
	// opened again. The caller decides whether to start it anew. Decisions that were not stored are
	// refused, because their order cannot be restored. A shard that has lost its journal for any other
	// reason is opened again: no other node is known to own it.
	Pass func(*Request)
	// Voided returns nil if the change to a generation of shards was given up, for which the journal was closed, and
	// [ErrClosed] if it was not. nil: none was ever given up.
	Voided func(ctx context.Context, generation uint32) error
	// Fault returns what keeps this node from storing; refusals name such a fault. It must not block. nil: it
	// is not known.
	Fault func() error
	// Changed is called when the State has changed, from any goroutine; it must not block. nil: it is not
	// called.
	Changed func()
}

// Shard is a shard that this node owns, or tries to. It is safe for concurrent use.
type Shard struct {
	cfg    ShardConfig
	system *actor.ActorSystem
	pid    *actor.PID
	// dispatcher runs the actor.
	dispatcher *dispatcher
	requests   admission
	state      atomic.Int32
	epoch      atomic.Uint64
	// records counts those that were read to open the shard.
	records atomic.Uint64
	// began: an actor has begun to open the shard. It belongs to the shard's goroutine.
	began bool
	// unconfirmed and confirmed are as their methods return them. closed is since when the shard is not open,
	// [lease.Never] while it is.
	unconfirmed, confirmed, closed atomic.Int64
	// passing: undecided requests are passed on. It outlives a panic of the actor.
	passing atomic.Bool
	// isClosed: the journal has the commit that closes it.
	isClosed atomic.Bool
	// lateTokens counts the grants whose token is at or above [messages.WarnToken].
	lateTokens atomic.Uint64
	// publisher is that of the present term, or of the last one.
	publisher   atomic.Pointer[publish.Publisher]
	eventCounts publish.Counts
	// work counts the goroutines that talk to the journal.
	work sync.WaitGroup
	// reason is why the shard is not open, as [Shard.Reason] has it.
	reason atomic.Pointer[string]
	tried  chan struct{} // closed when the first attempt to open has ended, as err says
	once   sync.Once
	err    error
	ended  chan struct{} // closed when the shard has ended
	// leftOver is why requests were left without an answer, nil if none were; it is set before ended.
	leftOver error
}

// What the methods of a shard send to its actor.
type (
	// requests have come together.
	requests []Request
	// barrier asks for an append that shows who owns the shard.
	barrier struct{}
	// drainShard asks for the end; successor: another node waits for it.
	drainShard struct {
		successor bool
		// closed has the journal closed; nil: another owner of the shard goes on with it.
		closed *journal.Closed
	}
	// abort asks for the end at once.
	abort struct{}
	// noListener reports that a probe had no listener.
	noListener struct {
		session lease.SessionKey
		number  uint64
	}
)

func newShard(cfg ShardConfig, system *actor.ActorSystem) *Shard {
	if cfg.Observer == nil {
		cfg.Observer = unobserved{}
	}
	if cfg.Quota == nil {
		cfg.Quota = new(Quota)
	}
	s := &Shard{
		cfg: cfg, system: system, dispatcher: newDispatcher(), tried: make(chan struct{}), ended: make(chan struct{}),
	}
	s.requests.quota = cfg.Quota
	s.unconfirmed.Store(int64(lease.Never))
	s.confirmed.Store(int64(lease.Never))
	s.closed.Store(int64(lease.Never))
	return s
}

// SendAll hands the shard requests, which it takes in their order and together, and returns how many it took. It does
// not block. [ErrOverloaded]: it took no more, and with the others nothing happened. [ErrEnded]: the same, and it will
// take no later request either. A request that was taken is answered through the outbox or passed on, now or much
// later, unless the node dies. The slice belongs to the shard afterwards.
func (s *Shard) SendAll(all []Request) (taken int, err error) {
	for taken < len(all) {
		if err = s.requests.enter(s.cfg.Tuning.MaxPending, &all[taken]); err != nil {
			err = fmt.Errorf("shard %d: %w", s.cfg.Shard, err)
			break
		}
		taken++
	}
	if taken > 0 {
		s.system.Root.Send(s.pid, requests(all[:taken:taken]))
	}
	return taken, err
}

// Undeliverable reports that the grant of this token has reached no client.
func (s *Shard) Undeliverable(resource string, token messages.Token) {
	s.system.Root.Send(s.pid, requests{{Resource: resource, Event: lease.Undeliverable{Token: token}}})
}

// NoListener reports that a [Probe] had no listener.
func (s *Shard) NoListener(session lease.SessionKey, number uint64) {
	s.system.Root.Send(s.pid, noListener{session, number})
}

// Barrier lets an open shard append a commit without changes, unless an append is in flight anyway. A shard
// that was deposed learns so. Call it after another owner was announced, and after a pause of the process.
func (s *Shard) Barrier() { s.system.Root.Send(s.pid, barrier{}) }

// Opened waits until the first attempt to open the shard has ended and returns how. After an error
// the shard goes on trying. [ErrEnded]: it has ended before.
func (s *Shard) Opened(ctx context.Context) error {
	select {
	case <-s.tried:
		return s.err
	case <-s.ended:
		return fmt.Errorf("shard %d: %w", s.cfg.Shard, ErrEnded)
	case <-ctx.Done():
		return fmt.Errorf("shard %d is not open yet: %w", s.cfg.Shard, context.Cause(ctx))
	}
}

func (s *Shard) attempted(err error) {
	s.once.Do(func() {
		s.err = err
		close(s.tried)
	})
}

// Close takes no more requests, lets those on their way be answered, and ends the shard. When ctx
// ends before, the rest is left without an answer.
func (s *Shard) Close(ctx context.Context) error { return s.end(ctx, drainShard{}) }

// HandOver takes no more requests, lets what is decided be stored and answered, gives all others and the
// queued ones to [ShardConfig.Pass], and ends the shard. Its successor publishes the events that could not
// be published in a short while; ephemeral leases end.
//
// When ctx ends before, what was decided and is not stored is left without an answer or refused, and
// the others are passed all the same. The error says that requests were left without an answer;
// in any case the shard has ended, and nothing of it goes on. A shard that has ended already, or is
// being closed, only waits for that.
func (s *Shard) HandOver(ctx context.Context) error { return s.end(ctx, drainShard{successor: true}) }

// CloseJournal is [Shard.HandOver] to the shards of another generation. It first publishes all events, and then closes
// the journal, as [Shard.IsClosed] tells. If they cannot be published, or the shard is not open, the journal stays open.
func (s *Shard) CloseJournal(ctx context.Context, next messages.Shards) error {
	return s.end(ctx, drainShard{successor: true, closed: &journal.Closed{Generation: next.Generation, Shards: next.Count}})
}

// IsClosed reports whether the shard has closed its journal before its end.
func (s *Shard) IsClosed() bool { return s.isClosed.Load() }

func (s *Shard) end(ctx context.Context, how drainShard) error {
	s.system.Root.Send(s.pid, how)
	var err error
	select {
	case <-s.ended:
		err = s.leftOver
	case <-ctx.Done():
		s.system.Root.Send(s.pid, abort{})
		<-s.ended
		err = context.Cause(ctx)
	}
	for s.system.Root.StopFuture(s.pid).Wait() != nil { // the library gives up after ten seconds
		s.cfg.Log.Warn("the shard has not stopped yet")
	}
	s.dispatcher.stop()
	s.work.Wait()
	if err != nil {
		return fmt.Errorf("shard %d: requests were left without an answer: %w", s.cfg.Shard, err)
	}
	return nil
}

// State returns the state of the shard.
func (s *Shard) State() State { return State(s.state.Load()) }

// setState belongs to the shard's goroutine. Ended is the last state.
func (s *Shard) setState(now State) {
	if s.State() == Ended {
		return
	}
	if State(s.state.Swap(int32(now))) != now && s.cfg.Changed != nil {
		s.cfg.Changed()
	}
}

// beingOpened is the reason of a refusal before the first attempt to open a shard has ended.
const beingOpened = "is being opened"

// Reason returns why an [Opening] shard is not open yet, as in "cannot be opened: ...".
func (s *Shard) Reason() string {
	if why := s.reason.Load(); why != nil {
		return s.withFault(*why)
	}
	return s.withFault(beingOpened)
}

// unavailable returns the sentence of a refusal.
func (s *Shard) unavailable(why string) string {
	return fmt.Sprintf("shard %d %s; nothing happened, try again", s.cfg.Shard, s.withFault(why))
}

// withFault adds to a reason what keeps this node from storing.
func (s *Shard) withFault(why string) string {
	if s.cfg.Fault != nil && s.cfg.Fault() != nil {
		why += " (this node cannot store on its disk)"
	}
	return why
}
