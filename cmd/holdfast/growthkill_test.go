package main_test

import (
	"fmt"
	"testing"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// Whichever node is killed, and whenever, while a deployment grows: started again, they get there, with
// all that was granted.
func TestGrowthKilled(t *testing.T) {
	t.Parallel()
	m := stand.NewGrowing(t, 3, "--shards", "2", "--log-level", "debug")
	n1, n2, n3 := m.All[0], m.All[1], m.All[2]
	killed := func(member *stand.Member, when string) {
		t.Helper()
		member.WaitLog(when)
		member.Kill()
	}

	n1.Start()
	killed(n1, "Starting JetStream cluster")
	n1.Start()
	killed(n1, "Self is new JetStream cluster metadata leader")
	n1.Restart()
	const held = 20
	for i := range held {
		run(t, "acquire", fmt.Sprint("r", i), "--owner", "me", "--ttl", "10m", "--server", n1.URL).want(t, 0, "token 1")
	}
	n1.Kill()
	n1.Restart()

	n2.Start()
	killed(n2, "Starting JetStream cluster")
	n2.Start()
	killed(n2, "JetStream cluster new metadata leader")
	n2.Restart()

	n3.Start()
	killed(n3, "JetStream cluster new metadata leader")
	n3.Start()
	killed(n3, "Holdfast is ready") // it has begun to raise the replicas
	n3.Start()
	killed(n1, "detected stream remapping") // it is about to hand a bucket's content on
	n1.Start()
	n3.WaitLog("stream=KV_HOLDFAST_1 had=1 has=3")
	for _, member := range m.All {
		member.Kill()
	}
	n2.Start() // now the first is not needed any more
	n3.Start()
	n2.WaitReady()
	n3.WaitReady()
	for i := range held {
		run(t, "get", fmt.Sprint("r", i), "--server", n2.URL, "--timeout", "30s").want(t, 0, `by "me", token 1`)
	}
}
