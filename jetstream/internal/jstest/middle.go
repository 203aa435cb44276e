package jstest

import (
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/jetstream"
)

// Middle is a server with JetStream and a client that reaches it through a proxy.
type Middle struct {
	*Proxy
	Client *nats.Conn // through the proxy
	Direct *nats.Conn // around it
}

// NewMiddle starts the server and the proxy.
func NewMiddle(t *testing.T) *Middle {
	t.Helper()
	s := MustStart(t)
	p := NewProxy(t, s.ClientURL())
	return &Middle{Proxy: p, Client: MustDial(t, p.URL()), Direct: MustConnect(t, s)}
}

// Bucket opens shard 0 of a deployment of one, for the client.
func (m *Middle) Bucket() *jetstream.Bucket {
	m.t.Helper()
	return MustOpen(m.t, m.Client, 1).Bucket(0)
}

// Other opens the same bucket for another writer around the proxy.
func (m *Middle) Other() *jetstream.Bucket {
	m.t.Helper()
	return MustOpen(m.t, m.Direct, 1).Bucket(0)
}

// IsAppend reports whether the message is an append.
func IsAppend(m *nats.Msg) bool { return m != nil && strings.HasPrefix(m.Subject, "$KV.") }

// IsLook reports whether the message reads a message of a stream.
func IsLook(m *nats.Msg) bool {
	return m != nil && strings.HasPrefix(m.Subject, "$JS.API.STREAM.MSG.GET.")
}

// IsInfo reports whether the message requests the state of a stream.
func IsInfo(m *nats.Msg) bool {
	return m != nil && strings.HasPrefix(m.Subject, "$JS.API.STREAM.INFO.")
}

// IsPurge reports whether the message purges a stream.
func IsPurge(m *nats.Msg) bool {
	return m != nil && strings.HasPrefix(m.Subject, "$JS.API.STREAM.PURGE.")
}

// FirstOf returns a function that is true for the first n messages that the condition holds for.
func FirstOf(n int, condition func(*nats.Msg) bool) func(*nats.Msg) bool {
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
