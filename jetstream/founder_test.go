package jetstream_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/jetstream"
)

// mustFounder starts the first of n members, alone, with 50 records in its bucket.
func mustFounder(t *testing.T, n int) *members {
	t.Helper()
	m := &members{configs: memberConfigs(t, n)}
	m.configs[0].Routes = m.configs[0].Routes[:1]
	m.mustAdd(t)
	mustFill(t, mustOpen(t, m.conns[0], 2).Bucket(0), 50)
	return m
}

// mustAdd starts the next member.
func (m *members) mustAdd(t *testing.T) {
	t.Helper()
	m.servers = append(m.servers, nil)
	m.conns = append(m.conns, nil)
	m.mustStart(t, len(m.servers)-1)
	mustAwaitQuorum(t, m.servers[len(m.servers)-1])
}

func (m *members) mustStart(t *testing.T, i int) {
	t.Helper()
	m.servers[i] = mustStart(t, func(c *jetstream.ServerConfig) { *c = m.configs[i] })
	m.conns[i] = mustConnect(t, m.servers[i])
}

// mustHold checks that the deployment has what was stored, as seen through a member.
func (m *members) mustHold(t *testing.T, i int) *jetstream.Deployment {
	t.Helper()
	d, err := open(t, m.conns[i], jetstream.DeploymentConfig{Replicas: len(m.servers), Members: m.servers[i].Members})
	if err != nil {
		t.Fatal(err)
	}
	if got := mustReplay(t, d.Bucket(0), 0); len(got.records) != 50 {
		t.Fatalf("through n%d: %d of 50 records are left", i, len(got.records))
	}
	return d
}

// A cluster begins with one member, which may stop and come back, and others join one by one.
func TestClusterOfOne(t *testing.T) {
	t.Parallel()
	m := mustFounder(t, 3)
	if alone := m.servers[0].Members(); !slices.Equal(alone, []string{"n0"}) {
		t.Errorf("the only member sees %v", alone)
	}
	for _, routes := range [][]string{m.configs[0].Routes, m.configs[2].Routes} {
		m.servers[0].Resign(testContext(t))
		m.servers[0].Shutdown()
		m.configs[0].Routes = routes
		m.mustStart(t, 0)
		mustAwaitQuorum(t, m.servers[0])
		m.mustHold(t, 0)
	}
	m.configs[1].Routes = m.configs[2].Routes[:2]
	m.mustAdd(t)
	m.mustHold(t, 1)
	m.mustAdd(t)
	if err := m.mustHold(t, 2).Grow(testContext(t)); err != nil {
		t.Fatal(err)
	}
	m.servers[0].Shutdown()
	m.mustHold(t, 2)

	// The list that made it makes no other cluster when the directory is lost while the rest is there.
	m.configs[0].Routes, m.configs[0].DataDir = m.configs[2].Routes[:1], t.TempDir()
	m.mustStart(t, 0)
	mustAwaitQuorum(t, m.servers[0])
	m.mustHold(t, 0)
}

// Two new members make no cluster of their own while the one that is there cannot be reached: it would
// take the other's locks away when that comes back.
func TestNewMembersWait(t *testing.T) {
	for name, known := range map[string]int{"All": 3, "Earlier": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := mustFounder(t, 3)
			m.configs[1].Routes = m.configs[2].Routes[:known]
			m.servers[0].Shutdown()
			for i := range 2 {
				m.servers, m.conns = append(m.servers, nil), append(m.conns, nil)
				m.mustStart(t, i+1)
			}
			waitFor(t, "the new ones see one another", func() bool { return len(m.servers[1].Members()) == 2 })
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // new members elect in one
			defer cancel()
			wantError(t, m.servers[1].AwaitQuorum(ctx), jetstream.ErrNoJetStream, "no quorum")
			m.mustStart(t, 0)
			for i, s := range m.servers {
				mustAwaitQuorum(t, s)
				m.mustHold(t, i)
			}
		})
	}
}
