package node

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// Observer receives what a node does, for statistics. Its methods are called concurrently: they must not block, and
// should cost no more than some atomic additions.
type Observer interface {
	actors.Observer
	// Answered: an answer leaves, so long after its request came. Those to requests that waited in a queue are left
	// out. op is empty if the subject of the request has none.
	Answered(op messages.Operation, took time.Duration)
	// Waited: a request that waited in a queue was granted. took is as for Answered.
	Waited(took time.Duration)
}

// statuses is the number of statuses that an answer may have, and of the zero status.
const statuses = int(messages.Status_UPDATED) + 1

// answers counts the answers that leave. It is safe for concurrent use.
type answers struct {
	clock    actors.Clock
	observer Observer // nil if there is none
	// counts has them by operation, those without one at the end, and by status.
	counts [][statuses]atomic.Uint64
}

func newAnswers(clock actors.Clock, observer Observer) *answers {
	return &answers{clock: clock, observer: observer,
		counts: make([][statuses]atomic.Uint64, len(messages.Operations)+1)}
}

// add counts an answer unless it is an inner one, and returns how many of its operation had its status so far.
func (a *answers) add(x lease.Answer) uint64 {
	of, status := x.To.Origin, x.Reply.GetStatus()
	if a.observer != nil && !of.Inner {
		a.observe(of, status, x.Waited)
	}
	i := slices.Index(messages.Operations, of.Operation)
	if i < 0 {
		i = len(messages.Operations)
	}
	count := &a.counts[i][status]
	if of.Inner {
		return count.Load()
	}
	return count.Add(1)
}

func (a *answers) observe(of messages.Origin, status messages.Status, waited bool) {
	if of.Received == 0 {
		return // a request of the node's own
	}
	took := time.Duration(a.clock.Now().Instant) - of.Received
	switch {
	case !waited:
		a.observer.Answered(of.Operation, took)
	case status == messages.Status_GRANTED:
		a.observer.Waited(took)
	}
}

// Answers is how many answers of one kind have left the node.
type Answers struct {
	// Operation is empty for requests whose subject has none.
	Operation messages.Operation
	Status    messages.Status
	Count     uint64
}

// all returns the kinds that there have been.
func (a *answers) all() (all []Answers) {
	for i := range a.counts {
		var op messages.Operation
		if i < len(messages.Operations) {
			op = messages.Operations[i]
		}
		for status := range a.counts[i] {
			if count := a.counts[i][status].Load(); count > 0 {
				all = append(all, Answers{Operation: op, Status: messages.Status(status), Count: count})
			}
		}
	}
	return all
}
