package jetstream_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/jetstream"
)

// How long an append waits for its first answer, and for its second.
const (
	firstWait  = 200 * time.Millisecond
	secondWait = 400 * time.Millisecond
)

// middle is a server with JetStream and a client that reaches it through a proxy.
type middle struct {
	*proxy
	client *nats.Conn // through the proxy
	direct *nats.Conn // around it
}

func newMiddle(t *testing.T) *middle {
	t.Helper()
	s := mustStart(t)
	p := newProxy(t, s.ClientURL())
	return &middle{proxy: p, client: mustDial(t, p.url()), direct: mustConnect(t, s)}
}

// bucket opens shard 0 of a deployment of one, for the client.
func (m *middle) bucket() *jetstream.Bucket {
	m.t.Helper()
	return mustOpen(m.t, m.client, 1).Bucket(0)
}

// other opens the same bucket for another writer, whom nobody interferes with.
func (m *middle) other() *jetstream.Bucket {
	m.t.Helper()
	return mustOpen(m.t, m.direct, 1).Bucket(0)
}

func isAppend(m *nats.Msg) bool { return m != nil && strings.HasPrefix(m.Subject, "$KV.") }
func isLook(m *nats.Msg) bool {
	return m != nil && strings.HasPrefix(m.Subject, "$JS.API.STREAM.MSG.GET.")
}
func isInfo(m *nats.Msg) bool {
	return m != nil && strings.HasPrefix(m.Subject, "$JS.API.STREAM.INFO.")
}
func isPurge(m *nats.Msg) bool {
	return m != nil && strings.HasPrefix(m.Subject, "$JS.API.STREAM.PURGE.")
}

// firstOf returns a function that is true for the first n messages that the condition holds for.
func firstOf(n int, condition func(*nats.Msg) bool) func(*nats.Msg) bool {
	var mu sync.Mutex
	return func(m *nats.Msg) bool {
		mu.Lock()
		defer mu.Unlock()
		if n == 0 || !condition(m) {
			return false
		}
		n--
		return true
	}
}
