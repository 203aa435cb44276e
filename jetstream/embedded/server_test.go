package embedded_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"
	"github.com/holdfast-io/holdfast/jetstream/natsconn"
)

func TestServer(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "on", "the", "way")
	cfg := embedded.Config{Name: "one", Listen: "localhost:0", DataDir: dir, Log: jstest.Quiet()}
	s := jstest.MustStart(t, func(c *embedded.Config) { *c = cfg })
	if s.DataDir() != dir {
		t.Errorf("data in %s, want %s", s.DataDir(), dir)
	}
	if !strings.HasPrefix(s.ClientURL(), "nats://localhost:") || strings.HasSuffix(s.ClientURL(), ":0") {
		t.Errorf("clients connect to %s", s.ClientURL())
	}
	inside, outside := jstest.MustConnect(t, s), jstest.MustDial(t, s.ClientURL())
	if inside.ConnectedServerName() != "one" || outside.ConnectedServerId() != inside.ConnectedServerId() {
		t.Error("the two connections lead to different servers")
	}
	jstest.MustFill(t, jstest.MustOpen(t, inside, 2).Bucket(1), 5)
	s.Shutdown()
	s.Shutdown()

	again := jstest.MustStart(t, func(c *embedded.Config) { *c = cfg })
	if got := jstest.MustReplay(t, jstest.MustOpen(t, jstest.MustConnect(t, again), 0).Bucket(1), 0); got.Last != 5 {
		t.Errorf("after a restart the bucket holds\n%s", got.Describe())
	}
}

func TestServerDataDir(t *testing.T) {
	t.Parallel()
	start := func(dir string) error {
		s, err := embedded.Start(embedded.Config{Listen: "127.0.0.1:-1", DataDir: dir, Log: jstest.Quiet()})
		if err == nil {
			s.Shutdown()
		}
		return err
	}
	t.Run("NotGiven", func(t *testing.T) {
		t.Parallel()
		jstest.WantError(t, start(""), embedded.ErrConfig, "--data")
	})
	t.Run("IsAFile", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		jstest.WantError(t, start(file), embedded.ErrDataDir, file, "not a directory", "choose another")
		jstest.WantError(t, start(filepath.Join(file, "below")), embedded.ErrDataDir, "not a directory")
	})
	t.Run("NotWritable", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		for d := dir; strings.Contains(d, "TestServerDataDir"); d = filepath.Dir(d) {
			if err := os.Chmod(d, 0o555); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() {
			for d := dir; strings.Contains(d, "TestServerDataDir"); d = filepath.Dir(d) {
				_ = os.Chmod(d, 0o755)
			}
		})
		for _, d := range []string{dir, filepath.Join(dir, "below")} {
			out := jstest.MustRun(t, "unprivileged", d)
			if !strings.Contains(out, embedded.ErrDataDir.Error()) || !strings.Contains(out, d+" is not writable") {
				t.Errorf("said %q", out)
			}
		}
	})
	t.Run("InUse", func(t *testing.T) {
		t.Parallel()
		s := jstest.MustStart(t)
		jstest.WantError(t, start(s.DataDir()), embedded.ErrDataDir, s.DataDir(), "in use by another process",
			"holdfast.lock")
		s.Shutdown()
		if err := start(s.DataDir()); err != nil {
			t.Errorf("after it was stopped: %v", err)
		}
	})
	t.Run("InUseByAnotherProcess", func(t *testing.T) {
		t.Parallel()
		s := jstest.MustStart(t)
		out := jstest.MustRun(t, "unprivileged", s.DataDir())
		if !strings.Contains(out, "cannot be used") {
			t.Errorf("said %q", out)
		}
	})
	t.Run("Spoiled", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "jetstream"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := start(dir); err == nil || !strings.Contains(err.Error(), "Can't start JetStream") {
			t.Errorf("error %v", err)
		}
		if err := os.Remove(filepath.Join(dir, "jetstream")); err != nil {
			t.Fatal(err)
		}
		if err := start(dir); err != nil {
			t.Errorf("after a failed start: %v", err)
		}
	})
}

func TestServerListen(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T, listen string, remote bool) error {
		t.Helper()
		dir := t.TempDir()
		s, err := embedded.Start(embedded.Config{Listen: listen, AllowRemote: remote, DataDir: dir,
			Log: jstest.Quiet()})
		if err == nil {
			s.Shutdown()
			return nil
		}
		// Whatever is wrong, the directory is free for the next try.
		jstest.MustStart(t, func(cfg *embedded.Config) { cfg.DataDir = dir })
		return err
	}
	t.Run("PortInUse", func(t *testing.T) {
		t.Parallel()
		busy, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer busy.Close()
		began := time.Now()
		err = start(t, busy.Addr().String(), false)
		jstest.WantError(t, err, embedded.ErrListen, busy.Addr().String(), "another program", "choose another port")
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("took %v to notice", took)
		}
	})
	for listen, words := range map[string]string{
		"0.0.0.0:-1":     "--allow-remote",
		":-1":            "--nats-config",
		"[::]:-1":        "without authentication",
		"192.0.2.1:-1":   "open to other hosts",
		"example.com:-1": "open to other hosts",
		"127.0.0.1":      "host:port",
		"127.0.0.1:x":    "no port",
		"127.0.0.1:-2":   "no port",
	} {
		t.Run(listen, func(t *testing.T) {
			t.Parallel()
			jstest.WantError(t, start(t, listen, false), embedded.ErrListen, listen, words)
		})
	}
	t.Run("Allowed", func(t *testing.T) {
		t.Parallel()
		for _, listen := range []string{"127.0.0.1:0", "localhost:-1", "127.8.9.1:-1"} {
			if err := start(t, listen, false); err != nil {
				t.Errorf("%s: %v", listen, err)
			}
		}
		if err := start(t, "0.0.0.0:-1", true); err != nil {
			t.Error(err)
		}
		jstest.WantError(t, start(t, "192.0.2.1:-1", true), embedded.ErrListen, "192.0.2.1")
	})
}

func TestServerConfigFile(t *testing.T) {
	t.Parallel()
	t.Run("OK", func(t *testing.T) {
		t.Parallel()
		s := jstest.MustStartFile(t, jstest.GoodConfig)
		if _, err := os.Stat(filepath.Join(s.DataDir(), "holdfast.lock")); err != nil || filepath.Base(s.DataDir()) != "store" {
			t.Errorf("data in %s, error %v", s.DataDir(), err)
		}
		nc := jstest.MustConnect(t, s)
		if nc.ConnectedServerName() != "from-file" {
			t.Errorf("the server is called %q", nc.ConnectedServerName())
		}
		jstest.MustFill(t, jstest.MustOpen(t, nc, 1).Bucket(0), 3)
	})
	t.Run("NameFromOutside", func(t *testing.T) {
		t.Parallel()
		s := jstest.MustStartFile(t, strings.Replace(jstest.GoodConfig, "server_name: from-file", "", 1))
		if name := jstest.MustConnect(t, s).ConnectedServerName(); name != "test" {
			t.Errorf("the server is called %q", name)
		}
	})
	t.Run("Authentication", func(t *testing.T) {
		t.Parallel()
		s := jstest.MustStartFile(t, jstest.GoodConfig+"\nauthorization { user: node, password: node }")
		if _, err := s.Connect(); err == nil {
			t.Error("connected without a password")
		} else {
			jstest.WantError(t, err, natsconn.ErrConnect, "authentication")
		}
		jstest.MustOpen(t, jstest.MustConnect(t, s, jstest.User("node")), 1)
	})
	for _, test := range []struct {
		name, config string
		words        []string
	}{
		{"NoSync", strings.Replace(jstest.GoodConfig, ", sync_interval: always", "", 1),
			[]string{"jetstream {\n  sync_interval: always\n}", "power cut"}},
		{"SlowSync", strings.Replace(jstest.GoodConfig, "always", "10s", 1), []string{"sync_interval: always"}},
		{"NoJetStream", `listen: "127.0.0.1:-1"`, []string{"JetStream is off", "store_dir", "sync_interval: always"}},
		{"JetStreamOff", strings.Replace(jstest.GoodConfig, "jetstream {", "jetstream { enabled: false,", 1),
			[]string{"JetStream is off"}},
		{"NoStore", strings.Replace(jstest.GoodConfig, `store_dir: "$DIR/store",`, "", 1), []string{"store_dir"}},
		{"Syntax", jstest.GoodConfig + "\njetstream {", []string{"nats.conf"}},
		{"UnknownField", jstest.GoodConfig + "\nlocks: 7", []string{"locks"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			file := jstest.MustWriteConfig(t, test.config)
			_, err := embedded.Start(embedded.Config{ConfigFile: file, Log: jstest.Quiet()})
			jstest.WantError(t, err, embedded.ErrConfig, append(test.words, "nats.conf")...)
		})
	}
	t.Run("Missing", func(t *testing.T) {
		t.Parallel()
		_, err := embedded.Start(embedded.Config{ConfigFile: filepath.Join(t.TempDir(), "none.conf")})
		jstest.WantError(t, err, embedded.ErrConfig, "none.conf")
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v hides its cause", err)
		}
	})
	t.Run("WithListenOrDataDir", func(t *testing.T) {
		t.Parallel()
		file := jstest.MustWriteConfig(t, jstest.GoodConfig)
		for _, cfg := range []embedded.Config{
			{ConfigFile: file, Listen: "127.0.0.1:-1"}, {ConfigFile: file, DataDir: t.TempDir()},
		} {
			_, err := embedded.Start(cfg)
			jstest.WantError(t, err, embedded.ErrConfig, "leave out --listen and --data")
		}
	})
	t.Run("UnsafeSync", func(t *testing.T) {
		t.Parallel()
		log := jstest.NewRecorder()
		jstest.MustStart(t, func(cfg *embedded.Config) {
			cfg.Listen, cfg.DataDir, cfg.UnsafeSync, cfg.Log = "", "", true, slog.New(log)
			cfg.ConfigFile = jstest.MustWriteConfig(t,
				strings.Replace(jstest.GoodConfig, ", sync_interval: always", "", 1))
		})
		if level, ok := log.Find("power cut"); !ok || level != slog.LevelWarn {
			t.Error("no warning")
		}
	})
	t.Run("ClusterPortInUse", func(t *testing.T) {
		t.Parallel()
		busy, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer busy.Close()
		file := jstest.MustWriteConfig(t, jstest.GoodConfig+
			fmt.Sprintf("\ncluster { name: c, listen: %q, routes: [\"nats://127.0.0.1:1\"] }", busy.Addr()))
		_, err = embedded.Start(embedded.Config{ConfigFile: file, Log: jstest.Quiet()})
		jstest.WantError(t, err, embedded.ErrListen, "router")
	})
}

func TestServerLog(t *testing.T) {
	t.Parallel()
	log := jstest.NewRecorder()
	s := jstest.MustStart(t, func(cfg *embedded.Config) { cfg.Log = slog.New(log) })
	jstest.MustOpen(t, jstest.MustConnect(t, s), 1)
	for words, want := range map[string]slog.Level{
		"Server is ready":                  slog.LevelDebug,
		"Listening for client connections": slog.LevelDebug,
		"Client connection created":        embedded.LevelDebug,
	} {
		if level, ok := log.Find(words); !ok || level != want {
			t.Errorf("%q at level %v, found %v, want %v", words, level, ok, want)
		}
	}

	failing := jstest.NewRecorder()
	_, err := embedded.Start(embedded.Config{
		Listen:  strings.TrimPrefix(s.ClientURL(), "nats://"),
		DataDir: t.TempDir(),
		Log:     slog.New(failing),
	})
	jstest.WantError(t, err, embedded.ErrListen)
	if level, ok := failing.Find("Error listening"); !ok || level != slog.LevelError {
		t.Errorf("at level %v, found %v", level, ok)
	}
}

// playUnprivileged starts a server as a user without write permission.
func playUnprivileged(dir string) error {
	if os.Getuid() == 0 {
		if err := syscall.Setuid(65534); err != nil {
			return err
		}
	}
	_, err := embedded.Start(embedded.Config{Listen: "127.0.0.1:-1", DataDir: dir, Log: jstest.Quiet()})
	return err
}

// A server refuses what exceeds its limits on connections and subscriptions, and says which limit.
func TestLimitsOfClients(t *testing.T) {
	t.Parallel()
	s := jstest.MustStart(t, func(c *embedded.Config) { c.MaxConnections, c.MaxSubscriptions = 2, 2 })
	jstest.MustConnect(t, s)
	refused := make(chan error, 1)
	nc := jstest.MustConnect(t, s, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		select {
		case refused <- err:
		default:
		}
	}))
	if _, err := s.Connect(nats.NoReconnect()); err == nil ||
		!strings.Contains(err.Error(), "maximum connections exceeded") {
		t.Errorf("the third connection: %v", err)
	}
	for range 3 {
		if _, err := nc.SubscribeSync(nc.NewInbox()); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-refused; !errors.Is(err, nats.ErrMaxSubscriptionsExceeded) {
		t.Errorf("the third subscription: %v", err)
	}
}
