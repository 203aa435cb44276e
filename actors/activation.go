package actors

import (
	"container/list"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/holdfast-io/holdfast/actors/lease"
)

// activation is a resource's place in its term. It exists while the resource has an actor or a timer. It
// belongs to the shard; the resource actor only puts it on what it sends.
type activation struct {
	timer
	// tally is shared by all activations of the term.
	tally *tally
	// pid is the resource's actor, nil while it has none; inbox is how messages reach it.
	pid   *actor.PID
	inbox inbox
	// busy counts the events that are not done; unconfirmed counts those of them that were decided and wait for the
	// journal.
	busy, unconfirmed int
	// queue is what waits for the resource, nil if nothing does.
	queue *queue
	// ephemeral is how many ephemeral leases the resource has, which only its actor knows, and ephemeralShared how many
	// of these are shared.
	ephemeral, ephemeralShared int
	// held, unless nil, says that the actor panicked and has not got its state back, and has what waits for that.
	held *held
	// used is when the actor last decided something, up to an eighth of IdleAfter too early; idle is its place in the
	// order of that.
	used lease.Instant
	idle *list.Element
}

// held are requests that wait until an actor that panicked has its state back.
type held []*Request

// tally counts for all activations of a term.
type tally struct {
	busy, waiting, ephemeral, ephemeralShared int
	queues                                    queues
}

// sent notes an event for the actor.
func (a *activation) sent() {
	a.busy++
	a.tally.busy++
}

// done notes that nothing of an event is undecided or unconfirmed.
func (a *activation) done() {
	a.busy--
	a.tally.busy--
}

// isIdle reports whether the actor can be stopped without loss: all that it decided is confirmed, and the ledger
// knows its whole state.
func (a *activation) isIdle() bool { return a.busy == 0 && a.queue == nil && a.ephemeral == 0 }

// waiting returns how many requests wait for the resource.
func (a *activation) waiting() int {
	if a.queue == nil {
		return 0
	}
	return a.queue.waiting
}

// setWaiting notes how many requests wait for the resource, and since when the oldest of them does.
func (a *activation) setWaiting(n int, since lease.Instant) {
	a.tally.waiting += n - a.waiting()
	a.tally.queues.set(a, n, since)
}

func (a *activation) setEphemeral(n, shared int) {
	a.tally.ephemeral += n - a.ephemeral
	a.tally.ephemeralShared += shared - a.ephemeralShared
	a.ephemeral, a.ephemeralShared = n, shared
}
