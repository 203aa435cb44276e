//go:build linux

package cluster

import (
	"slices"
	"time"

	"github.com/nats-io/nats.go"
)

// Connect returns a client's connection, which looks for another node for ever when it loses the one that it
// has. It ends with the test.
func (c *Cluster) Connect(opts ...nats.Option) (*nats.Conn, error) {
	return c.connect(c.urls(), opts)
}

// ConnectTo returns a client's connection to one node, and to no other.
func (c *Cluster) ConnectTo(node string, opts ...nats.Option) (*nats.Conn, error) {
	n, err := c.node(node)
	if err != nil {
		return nil, err
	}
	return c.connect("nats://"+n.address(), append([]nats.Option{nats.IgnoreDiscoveredServers()}, opts...))
}

func (c *Cluster) connect(urls string, opts []nats.Option) (*nats.Conn, error) {
	// A node that is cut off is left after two pings, not after two of the default's two minutes. What the
	// library says of lost connections is no news here.
	defaults := []nats.Option{
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond),
		nats.Timeout(2 * time.Second), nats.PingInterval(time.Second), nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}
	nc, err := nats.Connect(urls, slices.Concat(defaults, c.cfg.login(), opts)...)
	if err != nil {
		return nil, err
	}
	c.tb.Cleanup(nc.Close)
	return nc, nil
}
