package monitoring_test

import (
	"testing"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages/porttest"
)

// lostQuorum kills two of three nodes. The third one keeps its shards, which JetStream stores no more, and cannot open
// the others.
func lostQuorum(t *testing.T) (targets []string, steps []func()) {
	t.Helper()
	m := startMembers(t, "--shards", "6")
	nc := stand.Dial(t, m.All[0].URL)
	return m.targets, []func(){func() {
		for _, member := range m.All[1:] {
			member.Kill()
		}
		m.All = m.All[:1]
		acquire(t, nc)
	}}
}

// restarts kills one node after the other and starts it again: the others take its shards, and it takes some back.
func restarts(t *testing.T) (targets []string, steps []func()) {
	t.Helper()
	m := startMembers(t, "--shards", "6")
	next := 0
	return m.targets, []func(){func() {
		node := m.All[next%len(m.All)]
		next++
		node.Kill()
		node.Restart()
	}}
}

// members are nodes that serve HTTP at the same targets after a restart.
type members struct {
	*stand.Members
	targets []string
}

func startMembers(t *testing.T, args ...string) members {
	t.Helper()
	m := members{stand.NewMembers(t, 3, args...), porttest.Free(t, 3)}
	for i, member := range m.All {
		member.Args = append(member.Args, "--http", m.targets[i])
		member.Start()
	}
	for _, member := range m.All {
		member.WaitReady()
	}
	return m
}
