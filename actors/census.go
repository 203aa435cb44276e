package actors

import (
	"context"
	"fmt"

	"github.com/holdfast-io/holdfast/actors/ledger"
)

// Census is what a shard has at one moment. Of a shard that is not open it has the state alone.
type Census struct {
	State State
	Epoch uint64
	// Stalled: the journal confirms nothing, so new requests are refused.
	Stalled bool
	// Figures counts the persistent leases, EphemeralExclusive and EphemeralShared the others.
	ledger.Figures
	EphemeralExclusive, EphemeralShared int
	// Waiting is how many requests wait, LongestQueue how many of them for one resource at most.
	Waiting, LongestQueue int
	Sessions              int
	// Actors is how many resources have an actor.
	Actors int
}

// census asks a shard for a Census.
type census struct{ result chan<- Census }

// Census asks the shard's goroutine for its figures. The error says that it has ended, or that it does not answer.
func (s *Shard) Census(ctx context.Context) (Census, error) {
	return inquire(ctx, s, "does not answer", func(result chan<- Census) any { return census{result} })
}

// inquire sends the shard a question, and returns what it sends back. silent is what the error says if that is nothing.
func inquire[T any](ctx context.Context, s *Shard, silent string, question func(chan<- T) any) (answer T, err error) {
	if s.State() == Ended {
		return answer, fmt.Errorf("shard %d: %w", s.cfg.Shard, ErrEnded)
	}
	result := make(chan T, 1)
	s.system.Root.Send(s.pid, question(result))
	select {
	case answer = <-result:
		return answer, nil
	case <-s.ended:
		return answer, fmt.Errorf("shard %d: %w", s.cfg.Shard, ErrEnded)
	case <-ctx.Done():
		return answer, fmt.Errorf("%w: shard %d %s: %w", ErrUnavailable, s.cfg.Shard, silent, context.Cause(ctx))
	}
}

func (s *shardActor) census(m census) {
	c := Census{State: s.State()}
	if t := s.term; t != nil {
		c.Epoch, c.Stalled, c.Figures = t.ledger.Head().Epoch, t.batcher.isStalled(), t.ledger.Figures()
		c.EphemeralShared = t.activations.ephemeralShared
		c.EphemeralExclusive = t.activations.ephemeral - c.EphemeralShared
		c.Waiting, c.LongestQueue, c.Sessions = t.activations.waiting, t.activations.queues.longest(), t.sessions.Len()
		c.Actors = t.activations.idle.Len()
	}
	m.result <- c
}
