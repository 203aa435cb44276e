package nodes

import (
	"bytes"
	"net"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/jetstream"
)

// staller connects to a NATS server that stops answering when it is sent certain words for the first time, as
// one does that is paused.
type staller struct {
	words string

	once    sync.Once
	stalled chan struct{} // closed when it has stopped
	resumed chan struct{} // closed when it goes on
}

func (s *staller) Dial(network, address string) (net.Conn, error) {
	conn, err := net.Dial(network, address)
	return &stallable{conn, s}, err
}

type stallable struct {
	net.Conn
	*staller
}

func (c *stallable) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(c.words)) {
		c.once.Do(func() { close(c.stalled) })
	}
	return c.Conn.Write(p)
}

func (c *stallable) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	select {
	case <-c.stalled:
		<-c.resumed
	default:
	}
	return n, err
}

// A NATS that stalls while a node starts is waited for, and that is logged.
func TestStartOutlastsAStall(t *testing.T) {
	for name, test := range map[string]struct {
		words string
		use   func(*node.Config, *nats.Conn)
	}{
		"Joining":      {"SUB holdfast.node.", func(c *node.Config, nc *nats.Conn) { c.Peers = nc }},
		"OpeningDoors": {"SUB holdfast.acquire.", func(c *node.Config, nc *nats.Conn) { c.Intake = nc }},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t)
			s := &staller{words: test.words, stalled: make(chan struct{}), resumed: make(chan struct{})}
			nc, err := jetstream.Connect(jetstream.ExternalConfig{URL: f.server.ClientURL(), Name: name, Log: f.log(name)}, nats.SetCustomDialer(s))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(nc.Close)
			started := make(chan error, 1)
			go func() {
				p, err := f.try("n1", func(c *node.Config) { test.use(c, nc) })
				if err == nil {
					f.nodes["n1"] = p
				}
				started <- err
			}()
			<-s.stalled
			f.untilLogged("the start waits for NATS", 1)
			close(s.resumed)
			if err := <-started; err != nil {
				t.Fatal(err)
			}
			f.settled()
		})
	}
}
