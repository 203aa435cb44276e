package main_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// A member whose disk is gone comes back under its name with an empty directory, while the others are
// used. When it has caught up it is worth as much as any: one of those who stayed may die.
func TestMemberComesBackEmpty(t *testing.T) {
	t.Parallel()
	m := stand.StartMembers(t, 3, "--shards", "1")
	run(t, "acquire", "orders.42", "--owner", "me", "--ttl", "10m", "--server", m.All[0].URL).want(t, 0, "token 1")
	stop := growthLoad(t, m.All[0].URL)
	m.All[2].Kill()
	empty(t, m.All[2].Data)
	m.All[2].Restart()
	awaitReplicas(t, m.All[0].URL)
	stop()
	m.All[0].Kill()
	run(t, "get", "orders.42", "--server", m.All[2].URL, "--timeout", "30s").want(t, 0,
		`^held: orders.42 by "me", token 1`)
	run(t, "acquire", "orders.43", "--server", m.All[2].URL, "--timeout", "30s").want(t, 0, "token 1")
}

func empty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		t.Fatalf("%s has %d entries: %v", dir, len(entries), err)
	}
	for _, e := range entries {
		stand.Must(t, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
}

// awaitReplicas returns when three servers have all of every bucket.
func awaitReplicas(t *testing.T, url string) {
	t.Helper()
	js := stand.Value(natsjs.New(stand.Dial(t, url)))(t)
	stand.Eventually(t, "every replica is current", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		defer cancel()
		all := js.ListStreams(ctx)
		for s := range all.Info() {
			if s.Cluster.Leader == "" || len(s.Cluster.Replicas) != 2 {
				return false
			}
			for _, r := range s.Cluster.Replicas {
				if !r.Current || r.Offline {
					return false
				}
			}
		}
		return all.Err() == nil
	})
}
