package jstest

import (
	"context"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages/porttest"
)

// Members are servers that have found one another by their settings alone.
type Members struct {
	Configs []embedded.Config
	Servers []*embedded.Server
	Conns   []*nats.Conn
}

// MemberConfigs are the settings of n members, n0 and so on.
func MemberConfigs(t *testing.T, n int) []embedded.Config {
	t.Helper()
	var configs []embedded.Config
	routes := porttest.Free(t, n)
	for i, own := range routes {
		configs = append(configs, embedded.Config{
			Name: fmt.Sprintf("n%d", i), Listen: "127.0.0.1:-1", ClusterListen: own, Routes: routes,
			DataDir: t.TempDir(), Log: Quiet(),
		})
	}
	return configs
}

// MustMembers starts a cluster of n members.
func MustMembers(t *testing.T, n int) *Members {
	t.Helper()
	m := &Members{Configs: MemberConfigs(t, n)}
	for _, cfg := range m.Configs {
		m.Servers = append(m.Servers, MustStart(t, func(c *embedded.Config) { *c = cfg }))
	}
	for _, s := range m.Servers {
		MustAwaitQuorum(t, s)
		m.Conns = append(m.Conns, MustConnect(t, s))
	}
	return m
}

// MustAwaitQuorum waits until the server knows a leader.
func MustAwaitQuorum(t *testing.T, s *embedded.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*Timeout)
	defer cancel()
	if err := s.AwaitQuorum(ctx); err != nil {
		t.Fatal(err)
	}
}

// Leaderships opens the deployment on each member.
func (m *Members) Leaderships(t *testing.T, replicas int) (deployments []*jetstream.Deployment,
	leaderships []*jetstream.Leadership) {
	t.Helper()
	for i, s := range m.Servers {
		d, err := Open(t, m.Conns[i], jetstream.DeploymentConfig{Shards: 3, Replicas: replicas, Members: s.Members})
		if err != nil {
			t.Fatal(err)
		}
		deployments, leaderships = append(deployments, d), append(leaderships, MustLeadership(t, s, m.Conns[i], d))
	}
	return deployments, leaderships
}

// MustLeadership returns the leadership of the deployment at the server.
func MustLeadership(t *testing.T, s *embedded.Server, nc *nats.Conn, d *jetstream.Deployment) *jetstream.Leadership {
	t.Helper()
	streams, err := s.Streams(nc)
	if err != nil {
		t.Fatal(err)
	}
	return jetstream.NewLeadership(d, streams)
}

// MustBootstrap starts the first of n members, alone, with 50 records in its bucket.
func MustBootstrap(t *testing.T, n int) *Members {
	t.Helper()
	m := &Members{Configs: MemberConfigs(t, n)}
	m.Configs[0].Routes = m.Configs[0].Routes[:1]
	m.MustAdd(t)
	MustFill(t, MustOpen(t, m.Conns[0], 2).Bucket(0), 50)
	return m
}

// MustAdd starts the next member.
func (m *Members) MustAdd(t *testing.T) {
	t.Helper()
	m.Servers = append(m.Servers, nil)
	m.Conns = append(m.Conns, nil)
	m.MustStart(t, len(m.Servers)-1)
	MustAwaitQuorum(t, m.Servers[len(m.Servers)-1])
}

// MustStart starts member i with its settings.
func (m *Members) MustStart(t *testing.T, i int) {
	t.Helper()
	m.Servers[i] = MustStart(t, func(c *embedded.Config) { *c = m.Configs[i] })
	m.Conns[i] = MustConnect(t, m.Servers[i])
}

// MustHold checks that the deployment has what was stored, as seen through a member.
func (m *Members) MustHold(t *testing.T, i int) *jetstream.Deployment {
	t.Helper()
	d, err := Open(t, m.Conns[i], jetstream.DeploymentConfig{Replicas: len(m.Servers), Members: m.Servers[i].Members})
	if err != nil {
		t.Fatal(err)
	}
	if got := MustReplay(t, d.Bucket(0), 0); len(got.Records) != 50 {
		t.Fatalf("through n%d: %d of 50 records are left", i, len(got.Records))
	}
	return d
}
