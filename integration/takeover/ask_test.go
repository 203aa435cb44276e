package takeover_test

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// moment orders what can be true of a resource: held under token n is 2n, free behind it 2n+1.
type moment uint64

func held(token uint64) moment  { return moment(2 * token) }
func ended(token uint64) moment { return moment(2*token + 1) }

// resource is a lock that all clients want.
type resource struct {
	name  string
	shard uint32
	// told is the latest moment that any answer has told of.
	told atomic.Uint64
}

func (r *resource) tell(m moment) {
	for {
		old := r.told.Load()
		if old >= uint64(m) || r.told.CompareAndSwap(old, uint64(m)) {
			return
		}
	}
}

// ask is one request, sent once, and the answer that came to it.
type ask struct {
	id       string // its inbox; as request_id, owner or reason what the journal knows it by
	op       messages.Operation
	resource *resource
	token    uint64
	ttl      uint32
	// floor is the latest moment that was told of when it was sent.
	floor moment

	done chan struct{}
	// reply is there when done is closed.
	reply *messages.Reply
}

// String names the request for a report.
func (a *ask) String() string {
	text := fmt.Sprintf("%s %s of %q", a.op, a.id, a.resource.name)
	if a.token != 0 {
		text += fmt.Sprintf(" token %d", a.token)
	}
	if r := a.answer(); r != nil {
		return fmt.Sprintf("%s, answered %s token %d", text, r.GetStatus(), r.GetLease().GetToken())
	}
	return text + ", not answered"
}

// answer returns what came, nil if nothing did.
func (a *ask) answer() *messages.Reply {
	select {
	case <-a.done:
		return a.reply
	default:
		return nil
	}
}

func (a *ask) status() messages.Status { return a.answer().GetStatus() }

// saw is the moment that an answer tells of; not ok if it tells of none.
func (a *ask) saw(r *messages.Reply) (m moment, ok bool) {
	switch r.GetStatus() {
	case messages.Status_GRANTED, messages.Status_EXTENDED, messages.Status_HELD,
		messages.Status_NOT_OWNER, messages.Status_STALE_TOKEN:
		return held(r.GetLease().GetToken()), true
	case messages.Status_FREE:
		return ended(r.GetLease().GetToken()), true
	case messages.Status_RELEASED, messages.Status_EXPIRED:
		return ended(a.token), true
	default:
		return 0, false
	}
}

// mail keeps all requests, and is the outbox of all nodes: an answer that is here has left.
type mail struct {
	mu   sync.Mutex
	asks map[string]*ask
	// answers are counted by status.
	answers [messages.Status_EXHAUSTED + 1]atomic.Int64
	wrong   func(format string, args ...any)
}

var _ interface {
	Answer(shard uint32, answers []lease.Answer)
} = (*mail)(nil)

func (m *mail) post(a *ask) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a.floor = moment(a.resource.told.Load())
	m.asks[a.id] = a
}

// withdraw forgets a request that was not sent after all.
func (m *mail) withdraw(a *ask) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.asks, a.id)
}

// Answer implements [actors.Outbox].
func (m *mail) Answer(_ uint32, answers []lease.Answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, answer := range answers {
		a := m.asks[answer.To.Subject]
		switch {
		case a == nil:
			m.wrong("an answer without a request: %s to %q", answer.Reply.GetStatus(), answer.To.Subject)
			continue
		case a.answer() != nil:
			m.wrong("a second answer, %s token %d, to %v", answer.Reply.GetStatus(), answer.Reply.GetLease().GetToken(), a)
			continue
		}
		a.reply = answer.Reply
		close(a.done)
		m.answers[a.reply.GetStatus()].Add(1)
		if seen, ok := a.saw(a.reply); ok {
			a.resource.tell(seen)
		}
	}
}
