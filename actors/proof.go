package actors

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
)

// prove asks for the outcome of an append.
type prove struct{ result chan<- error }

// proofFor is how long a confirmed append proves that the node can commit, from its beginning on.
const proofFor = 5 * time.Second

// Prove returns nil if the node owned the shard and could commit at some time within the last five seconds. If an
// append is in flight, it waits until the journal has confirmed it. Otherwise a confirmed append that began less than
// five seconds ago in this term is enough, and without one it appends a commit without changes: an idle shard that is
// asked all the time appends one in five seconds. An append that has taken so long that new requests are refused is no
// proof, even if it is confirmed later. [ErrUnavailable]: the shard is not open, the append was lost, or nothing was
// confirmed before ctx ended. [ErrEnded]: the shard has ended.
func (s *Shard) Prove(ctx context.Context) error {
	lost, err := inquire(ctx, s, unconfirmed, func(result chan<- error) any { return prove{result} })
	return cmp.Or(err, lost)
}

// unconfirmed is why a shard has no proof.
const unconfirmed = "is stalled: JetStream has confirmed no commit"

func (s *shardActor) prove(m prove) {
	if s.term == nil || s.State() != Open {
		m.result <- fmt.Errorf("%w: shard %d %s", ErrUnavailable, s.cfg.Shard, s.withFault(s.why))
		return
	}
	s.term.prove(m)
}

func (t *term) prove(m prove) {
	if !t.batcher.isAppending() && t.proofs.isFresh(t.shard.cfg.Clock.Now()) {
		m.result <- nil
		return
	}
	if t.batcher.isStalled() {
		took := t.shard.cfg.Clock.Now().Sub(t.batcher.since).Round(time.Millisecond)
		m.result <- fmt.Errorf("%w: shard %d %s for %v", ErrUnavailable, t.shard.cfg.Shard, unconfirmed, took)
		return
	}
	if len(t.proofs.awaited) == maxProofs {
		m.result <- fmt.Errorf("%w: shard %d %s, for which %d others wait", ErrUnavailable, t.shard.cfg.Shard,
			unconfirmed, maxProofs)
		return
	}
	t.proofs.awaited = append(t.proofs.awaited, m)
	t.barrier()
}

// maxProofs bounds how many proofs may be awaited in a term.
const maxProofs = 1000

// proofs are those that await the outcome of the append in flight.
type proofs struct {
	awaited []prove
	// began is when the last confirmed append began; proved: there was one.
	began  lease.Instant
	proved bool
}

// isFresh reports whether the last confirmed append still is a proof.
func (p *proofs) isFresh(now lease.Time) bool { return p.proved && now.Sub(p.began) < proofFor }

// confirm notes that an append which began then was confirmed.
func (p *proofs) confirm(began lease.Instant) {
	p.began, p.proved = began, true
	p.settle(nil)
}

// settle reports the outcome to all of them.
func (p *proofs) settle(err error) {
	for _, m := range p.awaited {
		m.result <- err
	}
	p.awaited = nil
}
