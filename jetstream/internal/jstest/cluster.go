package jstest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages/porttest"
)

// Cluster is three servers that replicate.
type Cluster struct {
	Servers []*embedded.Server
	Conns   []*nats.Conn
}

// MustCluster starts one; store adds to what the servers say of their JetStream.
func MustCluster(t *testing.T, store ...string) *Cluster {
	t.Helper()
	routes := porttest.Free(t, 3)
	c := &Cluster{}
	for i, route := range routes {
		c.Servers = append(c.Servers, MustStartFile(t, fmt.Sprintf(`
			server_name: n%d
			listen: "127.0.0.1:-1"
			jetstream { store_dir: "$DIR", sync_interval: always, %s }
			cluster { name: c, listen: %q, routes: ["nats://%s"] }`, i, strings.Join(store, ", "), route,
			strings.Join(routes, `", "nats://`))))
	}
	for _, s := range c.Servers {
		c.Conns = append(c.Conns, MustConnect(t, s))
	}
	return c
}

// Leader returns which server leads the bucket, -1 for none.
func (c *Cluster) Leader(t *testing.T) int {
	t.Helper()
	for _, nc := range c.Conns {
		stream, err := MustJetStream(t, nc).Stream(Context(t), StreamName)
		if err == nil && stream.CachedInfo().Cluster.Leader != "" {
			return int(stream.CachedInfo().Cluster.Leader[1] - '0')
		}
	}
	return -1
}

// StepDown asks the leader of the bucket to step down.
func (c *Cluster) StepDown(t *testing.T, nc *nats.Conn) {
	t.Helper()
	if _, err := nc.Request("$JS.API.STREAM.LEADER.STEPDOWN."+StreamName, nil, Timeout); err != nil {
		t.Errorf("step down: %v", err)
	}
}
