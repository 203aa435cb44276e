package takeover_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/messages"
)

// resource is a lock that all clients want. Its name is qualified.
type resource struct {
	name string
	// tenant is whose resource it is; empty: nobody's.
	tenant string
	shard  uint32
	// shared: readers, writers and users of a semaphore want it.
	shared bool
}

// ask is one request, sent once, and the answer that came to it. Its inbox is also its request_id, owner or reason, so
// that the journal knows it by that.
type ask struct {
	linear.Operation
	inbox string
	shard uint32
	// tenant has sent the request, and is its verified sender; empty: none.
	tenant string
	done   chan struct{}
	// reply is there when done is closed.
	reply *messages.Reply
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

// mail keeps all requests, and is the outbox of all nodes: an answer that is here has left, and counts even if its
// client has given up.
type mail struct {
	history *linear.History
	mu      sync.Mutex
	asks    map[string]*ask
	// answers are counted by status.
	answers [messages.Status_UPDATED + 1]atomic.Int64
	// shared are grants beside which others may be held, downgraded leases that went on as such.
	shared, downgraded atomic.Int64
	wrong              func(format string, args ...any)
}

var _ interface {
	Answer(shard uint32, answers []lease.Answer)
} = (*mail)(nil)

func (m *mail) post(a *ask) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a.Call, a.Return, a.Open = m.history.Now(), linear.Never, 1
	a.Last = a.Call
	m.asks[a.inbox] = a
}

// withdraw forgets a request that was not sent after all.
func (m *mail) withdraw(a *ask) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.asks, a.inbox)
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
			m.wrong("a second answer, %s token %d, to %v", answer.Reply.GetStatus(), answer.Reply.GetLease().GetToken(),
				&a.Operation)
			continue
		}
		a.reply = answer.Reply
		if l := answer.Reply.GetLease(); a.tenant != "" && l.GetOwner() != "" &&
			!strings.HasPrefix(l.GetOwner(), a.tenant+"/") {
			m.wrong("an answer to tenant %s with the lease of %q: %v", a.tenant, l.GetOwner(), &a.Operation)
		}
		a.Open, a.Return = 0, m.history.Now()
		a.Answered(answer.Reply)
		switch {
		case a.Shown.Limit == 0:
		case a.Status == messages.Status_GRANTED:
			m.shared.Add(1)
		case a.Status == messages.Status_EXTENDED && a.Token != a.Shown.Token:
			m.downgraded.Add(1)
		}
		close(a.done)
		m.answers[a.Status].Add(1)
	}
}

// close returns the history of all requests.
func (m *mail) close() *linear.History {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.asks {
		m.history.Add(a.Operation)
	}
	return m.history
}

// newAsk returns a request that is still to be sent.
func (c *client) newAsk(op messages.Operation, r *resource) *ask {
	c.sent++
	return &ask{
		Operation: linear.Operation{Client: c.number, Resource: r.name, Kind: op},
		inbox:     fmt.Sprintf("c%d.%d", c.number, c.sent), shard: r.shard, tenant: r.tenant, done: make(chan struct{}),
	}
}

func (a *ask) from() messages.ReplyTo {
	return messages.ReplyTo{Subject: a.inbox, Origin: messages.Origin{Tenant: a.tenant, Identity: a.tenant}}
}
