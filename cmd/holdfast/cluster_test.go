package main_test

import (
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// The real binary, three times, from empty directories: what has been granted through one is known to the
// others, and is still known when each of them has been stopped and started again. Meanwhile no call of a client
// fails, and tokens grow.
func TestThreeNodes(t *testing.T) {
	t.Parallel()
	m := stand.StartMembers(t, 3, "--shards", "3")
	run(t, "acquire", "orders.42", "--owner", "me", "--ttl", "10m", "--server", m.All[0].URL).want(t, 0, "token 1")
	stop := growthLoad(t, m.URLs())
	for _, member := range m.All {
		member.Stop()
		if strings.Contains(member.Written(), "level=ERROR") {
			t.Errorf("%s complains:\n%s", member.Name, member.Written())
		}
		member.Restart()
		awaitReplicas(t, member.URL)
		run(t, "get", "orders.42", "--server", member.URL, "--timeout", "30s").want(t, 0,
			`^held: orders.42 by "me", token 1`)
	}
	stop()
	m.All[0].Kill()
	run(t, "get", "orders.42", "--server", m.All[1].URL, "--timeout", "30s").want(t, 0,
		`^held: orders.42 by "me", token 1`)
}
