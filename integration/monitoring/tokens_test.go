package monitoring_test

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/archive"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// lateTokens grants a lock in a deployment whose tokens are near the end.
func lateTokens(t *testing.T) (targets []string, steps []func()) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "locks.backup")
	write(t, file, exhausted(t))
	node := stand.NewAlone(t)
	out, err := exec.CommandContext(t.Context(), stand.Binary(t), "restore", file, "--data", node.Data).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	node.Start()
	node.WaitReady()
	nc := stand.Dial(t, node.URL)
	return []string{node.HTTP()}, []func(){func() { acquire(t, nc) }}
}

// exhausted returns a backup of a deployment without leases, whose last token was one of those that are warned of.
func exhausted(t *testing.T) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := archive.NewWriter(&file, &archive.Header{Prefix: string(messages.DefaultPrefix), Shards: 1, AtMs: 1})
	if err != nil {
		t.Fatal(err)
	}
	stand.Must(t, errors.Join(
		w.Shard(&archive.Shard{Position: 1, Number: 1, Epoch: 1}),
		w.Page(&journal.Page{Number: 1, Epoch: 1, Floor: uint64(messages.WarnToken)}),
		w.Close(),
	))
	return file.Bytes()
}
