package holdfasttest

import (
	"slices"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/integration/relay"
	"github.com/holdfast-io/holdfast/messages"
)

// faults decide what becomes of the requests of clients on their way to the node.
type faults struct {
	mu sync.Mutex
	// delay is how much later acquires go on.
	delay time.Duration
	// dropped are the leases whose renewals are lost.
	dropped map[lease]bool
	// sessions are the keys of the sessions that the latest extends of leases have named.
	sessions map[lease]string
}

// lease is a lease as requests name it.
type lease struct {
	key   string
	token uint64
}

func newFaults() *faults { return &faults{dropped: map[lease]bool{}, sessions: map[lease]string{}} }

// drop has the renewals of a lease lost from now on.
func (f *faults) drop(l lease) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dropped[l] = true
}

func (f *faults) setDelay(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delay = d
}

// judge is the [relay.Judge] of what clients publish.
func (f *faults) judge(m relay.Message, send func(relay.Message)) {
	calls, encoding, ok := callsOf(m)
	if !ok {
		send(m)
		return
	}
	now, later, delay := f.divide(calls, encoding)
	pass := func(some []messages.SplitCall) {
		switch {
		case len(some) == len(calls):
			send(m)
		case len(some) > 0:
			send(m.WithBody(join(some)))
		}
	}
	pass(now)
	if len(later) > 0 {
		time.AfterFunc(delay, func() { pass(later) })
	}
}

// divide returns the calls that go on at once, and those that go on after the delay. The others are lost.
func (f *faults) divide(calls []messages.SplitCall, e messages.Encoding) (now, later []messages.SplitCall, delay time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range calls {
		switch {
		case f.loses(c, e):
		case c.Operation == messages.OpAcquire && f.delay > 0:
			later = append(later, c)
		default:
			now = append(now, c)
		}
	}
	return now, later, f.delay
}

// loses reports whether a call renews a lease whose renewals are lost: by itself, or with its session.
func (f *faults) loses(c messages.SplitCall, e messages.Encoding) bool {
	switch c.Operation {
	case messages.OpExtend:
		var r messages.ExtendRequest
		if messages.Decode(e, c.Payload, &r) != nil {
			return false // the node refuses it
		}
		session, _ := messages.EncodeKey(r.GetSession()) // empty: it names none
		l := lease{c.Key, r.GetToken()}
		f.sessions[l] = session
		return f.dropped[l] || f.ends(session)
	case messages.OpKeep:
		return f.ends(c.Key)
	}
	return false
}

// ends reports whether a session has a lease whose renewals are lost.
func (f *faults) ends(session string) bool {
	for l := range f.dropped {
		if session != "" && f.sessions[l] == session {
			return true
		}
	}
	return false
}

// callsOf returns the calls of a request. It has none that could be divided if it is no request, or a batch in JSON or
// with a call that the node refuses, as no client of Holdfast sends.
func callsOf(m relay.Message) (calls []messages.SplitCall, e messages.Encoding, ok bool) {
	at, err := messages.DefaultPrefix.Parse(m.Subject)
	if err != nil {
		return nil, e, false
	}
	body := m.Body()
	e = messages.EncodingOf("", body)
	if at.Operation != messages.OpBatch {
		return []messages.SplitCall{{Key: at.Key, Operation: at.Operation, Payload: body}}, e, true
	}
	calls, err = messages.SplitBatch(e, body)
	refused := slices.ContainsFunc(calls, func(c messages.SplitCall) bool { return c.Err != nil })
	return calls, e, err == nil && e == messages.Protobuf && !refused
}

// join returns a batch of the calls.
func join(calls []messages.SplitCall) (batch []byte) {
	for _, c := range calls {
		batch = messages.AppendCall(batch, c.ID, c.Key, c.Operation, c.Payload)
	}
	return batch
}
