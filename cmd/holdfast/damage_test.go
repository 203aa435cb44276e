package main_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// One bit of the store of a single node is another one. NATS leaves out the message, and the node refuses the journal,
// because a commit is missing.
func TestDamagedStoreIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := serve(t, "--data", dir)
	for i := range 20 {
		first.holdfast(t, "acquire", fmt.Sprint("orders.", i), "--owner", "me", "--ttl", "10m").want(t, 0, `token 1`)
	}
	first.signal(t, syscall.SIGTERM)
	first.wait(t)
	flipBit(t, dir, "orders.10")
	second := startWith(t, nil, "serve", "--data", dir, "--listen", strings.TrimPrefix(first.url, "nats://"))
	second.log.WaitFor(t, second.done, "it follows commit 11, so a commit is missing")
}

// flipBit changes a bit where the bucket has the text.
func flipBit(t *testing.T, dir, text string) {
	t.Helper()
	file := filepath.Join(dir, "jetstream", "$G", "streams", "KV_HOLDFAST_0", "msgs", "1.blk")
	stored, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(stored, []byte(text))
	if at < 0 {
		t.Fatalf("%s has no %s", file, text)
	}
	stored[at] ^= 1
	if err := os.WriteFile(file, stored, 0o600); err != nil {
		t.Fatal(err)
	}
}
