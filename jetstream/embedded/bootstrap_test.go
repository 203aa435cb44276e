package embedded_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"
)

// A cluster begins with one member, which may stop and come back, and others join one by one.
func TestClusterOfOne(t *testing.T) {
	t.Parallel()
	m := jstest.MustBootstrap(t, 3)
	if alone := m.Servers[0].Members(); !slices.Equal(alone, []string{"n0"}) {
		t.Errorf("the only member sees %v", alone)
	}
	for _, routes := range [][]string{m.Configs[0].Routes, m.Configs[2].Routes} {
		m.Servers[0].Resign(jstest.Context(t))
		m.Servers[0].Shutdown()
		m.Configs[0].Routes = routes
		m.MustStart(t, 0)
		jstest.MustAwaitQuorum(t, m.Servers[0])
		m.MustHold(t, 0)
	}
	m.Configs[1].Routes = m.Configs[2].Routes[:2]
	m.MustAdd(t)
	m.MustHold(t, 1)
	m.MustAdd(t)
	if err := m.MustHold(t, 2).Grow(jstest.Context(t)); err != nil {
		t.Fatal(err)
	}
	m.Servers[0].Shutdown()
	m.MustHold(t, 2)

	// The list that made it makes no other cluster when the directory is lost while the rest is there.
	m.Configs[0].Routes, m.Configs[0].DataDir = m.Configs[2].Routes[:1], t.TempDir()
	m.MustStart(t, 0)
	jstest.MustAwaitQuorum(t, m.Servers[0])
	m.MustHold(t, 0)
}

// Two new members make no cluster of their own while the one that is there cannot be reached: it would
// take the other's locks away when that comes back.
func TestNewMembersWait(t *testing.T) {
	for name, known := range map[string]int{"All": 3, "Earlier": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := jstest.MustBootstrap(t, 3)
			m.Configs[1].Routes = m.Configs[2].Routes[:known]
			m.Servers[0].Shutdown()
			for i := range 2 {
				m.Servers, m.Conns = append(m.Servers, nil), append(m.Conns, nil)
				m.MustStart(t, i+1)
			}
			jstest.WaitFor(t, "the new ones see one another", func() bool { return len(m.Servers[1].Members()) == 2 })
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // new members elect in one
			defer cancel()
			jstest.WantError(t, m.Servers[1].AwaitQuorum(ctx), embedded.ErrNoQuorum, "no quorum")
			m.MustStart(t, 0)
			for i, s := range m.Servers {
				jstest.MustAwaitQuorum(t, s)
				m.MustHold(t, i)
			}
		})
	}
}
