package stand

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/jetstream/embedded"
)

// NATS is a NATS server in the process of its test, without a node. It syncs what it confirms, and ends with the test.
type NATS struct {
	*embedded.Server
	config embedded.Config
}

// StartNATS starts a server. What cfg leaves out is a name, a free port, an empty directory and no log.
func StartNATS(tb testing.TB, cfg embedded.Config) *NATS {
	tb.Helper()
	if cfg.Name == "" {
		cfg.Name = "nats"
	}
	if cfg.ConfigFile == "" {
		cfg.Listen, cfg.DataDir = "127.0.0.1:-1", tb.TempDir()
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	n := &NATS{config: cfg}
	n.start(tb)
	tb.Cleanup(func() { n.Shutdown() })
	return n
}

// NATSConfig writes a configuration of NATS with JetStream, on a free port, to which more is added, and returns its
// file.
func NATSConfig(tb testing.TB, more string) string {
	tb.Helper()
	dir := tb.TempDir()
	file := filepath.Join(dir, "nats.conf")
	text := fmt.Sprintf("listen: \"127.0.0.1:-1\"\njetstream { store_dir: %q, sync_interval: always }\n%s",
		filepath.Join(dir, "store"), more)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return file
}

func (n *NATS) start(tb testing.TB) {
	tb.Helper()
	var err error
	if n.Server, err = embedded.Start(n.config); err != nil {
		tb.Fatal(err)
	}
}

// Restart stops the server and starts it again with its data, on another port.
func (n *NATS) Restart(tb testing.TB) {
	tb.Helper()
	n.Shutdown()
	n.start(tb)
}

// Connect returns a connection within the process, which ends with the test.
func (n *NATS) Connect(tb testing.TB, opts ...nats.Option) *nats.Conn {
	tb.Helper()
	nc, err := n.Server.Connect(opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	return nc
}
