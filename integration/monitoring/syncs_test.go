package monitoring_test

import (
	"sync"
	"testing"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages/porttest"
)

// unsynced restarts a node whose NATS then confirms what is not on disk.
func unsynced(t *testing.T) (targets []string, steps []func()) {
	t.Helper()
	targets = porttest.Free(t, 1)
	node := stand.StartAlone(t, "--http", targets[0])
	return targets, []func(){sync.OnceFunc(func() {
		node.Stop()
		node.Args = append(node.Args, "--unsafe-sync")
		node.Restart()
	})}
}
