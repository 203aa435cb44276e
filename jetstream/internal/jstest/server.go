package jstest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/jetstream/natsconn"

	natsjs "github.com/nats-io/nats.go/jetstream"
)

// MustStart starts a server on any free port, with its data in a folder of the test's.
func MustStart(tb testing.TB, change ...func(*embedded.Config)) *embedded.Server {
	tb.Helper()
	cfg := embedded.Config{Name: "test", Listen: "127.0.0.1:-1", DataDir: tb.TempDir(), Log: Quiet()}
	for _, c := range change {
		c(&cfg)
	}
	s, err := embedded.Start(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Shutdown)
	return s
}

// MustStartFile starts a server with a NATS configuration; $DIR in it is a folder of the test's.
func MustStartFile(tb testing.TB, config string) *embedded.Server {
	tb.Helper()
	return MustStart(tb, func(cfg *embedded.Config) {
		cfg.Listen, cfg.DataDir, cfg.ConfigFile = "", "", MustWriteConfig(tb, config)
	})
}

// MustWriteConfig writes a NATS configuration and returns its file; $DIR in it is the folder of the file.
func MustWriteConfig(tb testing.TB, config string) string {
	tb.Helper()
	dir := tb.TempDir()
	file := filepath.Join(dir, "nats.conf")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(config, "$DIR", dir)), 0o600); err != nil {
		tb.Fatal(err)
	}
	return file
}

// MustConnect connects within the process.
func MustConnect(tb testing.TB, s *embedded.Server, opts ...nats.Option) *nats.Conn {
	tb.Helper()
	nc, err := s.Connect(opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	return nc
}

// MustDial connects over TCP.
func MustDial(tb testing.TB, url string) *nats.Conn {
	tb.Helper()
	nc, err := natsconn.Dial(natsconn.Config{URL: url, Name: "test", Log: Quiet()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	return nc
}

// MustJetStream returns the JetStream of the connection.
func MustJetStream(tb testing.TB, nc *nats.Conn) natsjs.JetStream {
	tb.Helper()
	js, err := natsjs.New(nc)
	if err != nil {
		tb.Fatal(err)
	}
	return js
}

// User authenticates as a user whose password is the name.
func User(name string) nats.Option {
	return nats.UserInfo(name, name)
}

// GoodConfig is a NATS configuration for [MustStartFile].
const GoodConfig = `
	server_name: from-file
	listen: "127.0.0.1:-1"
	jetstream { store_dir: "$DIR/store", sync_interval: always }`
