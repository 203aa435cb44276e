package embedded_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"
	"github.com/holdfast-io/holdfast/messages/porttest"
)

func TestMemberOfItsOwn(t *testing.T) {
	t.Parallel()
	// no pattern
	alone := jstest.MustStart(t, func(c *embedded.Config) { c.DataDir = filepath.Join(c.DataDir, `a [b]*?\c`) })
	jstest.MustAwaitQuorum(t, alone)
	alone.Resign(t.Context())
	nc := jstest.MustConnect(t, alone)
	d := jstest.MustOpen(t, nc, 1)
	jstest.MustFill(t, d.Bucket(0), 1)
	if l := jstest.MustLeadership(t, alone, nc, d); !l.Leads(0) {
		t.Error("a server that is alone does not lead its bucket")
	}
	if (*jetstream.Leadership)(nil).Leads(0) {
		t.Error("a nil leadership leads")
	}
	alone.Shutdown()

	_, err := embedded.Start(embedded.Config{
		Name: "test", Listen: "127.0.0.1:-1", DataDir: alone.DataDir(), Log: jstest.Quiet(),
		ClusterListen: "127.0.0.1:-1", Routes: porttest.Free(t, 1),
	})
	jstest.WantError(t, err, embedded.ErrDataDir, alone.DataDir(), "was alone", "another directory",
		"holdfast backup and holdfast restore")
}

// A member without a quorum logs that, and starts as soon as there is one.
func TestQuorumIsWaitedFor(t *testing.T) {
	t.Parallel()
	configs, log := jstest.MemberConfigs(t, 3), jstest.NewRecorder()
	configs[0].Log = slog.New(log)
	first := jstest.MustStart(t, func(c *embedded.Config) { *c = configs[0] })
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	jstest.WantError(t, first.AwaitQuorum(ctx), embedded.ErrNoQuorum, "no quorum", "[n0]")

	done := make(chan error, 1)
	go func() { done <- first.AwaitQuorum(t.Context()) }()
	jstest.WaitFor(t, "the wait is logged", func() bool {
		level, ok := log.Find("no quorum")
		return ok && level == slog.LevelWarn
	})
	for _, cfg := range configs[1:] {
		jstest.MustStart(t, func(c *embedded.Config) { *c = cfg })
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestTwoMembersOfOneName(t *testing.T) {
	t.Parallel()
	configs := jstest.MemberConfigs(t, 2)
	configs[1].Name = configs[0].Name
	s := jstest.MustStart(t, func(c *embedded.Config) { *c = configs[0] })
	jstest.MustStart(t, func(c *embedded.Config) { *c = configs[1] })
	jstest.WantError(t, s.AwaitQuorum(jstest.Context(t)), embedded.ErrConfig, "another member", "n0", "--name")
}

func TestMemberMistakes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*embedded.Config)
		kind   error
		words  string
	}{
		"NoListen": {func(c *embedded.Config) { c.ClusterListen = "" }, embedded.ErrConfig, "--cluster-listen"},
		"NoRoutes": {func(c *embedded.Config) { c.Routes = nil }, embedded.ErrConfig, "--routes"},
		"NoName":   {func(c *embedded.Config) { c.Name = "" }, embedded.ErrConfig, "--name"},
		"Remote": {func(c *embedded.Config) { c.ClusterListen = "0.0.0.0:6222" }, embedded.ErrListen,
			"--allow-remote"},
		"NoPort": {func(c *embedded.Config) { c.ClusterListen = "127.0.0.1" }, embedded.ErrListen, "host:port"},
		"RouteNoPort": {func(c *embedded.Config) { c.Routes = []string{"127.0.0.1"} }, embedded.ErrConfig,
			"HOST:PORT"},
		"RouteAnyPort": {func(c *embedded.Config) { c.Routes = []string{"127.0.0.1:0"} }, embedded.ErrConfig,
			"HOST:PORT"},
		"RouteEmpty": {func(c *embedded.Config) { c.Routes = []string{"127.0.0.1:6222", ""} }, embedded.ErrConfig,
			"HOST:PORT"},
		"RouteNowhere": {func(c *embedded.Config) { c.Routes = []string{"0.0.0.0:6222"} }, embedded.ErrConfig,
			"leads nowhere"},
		"RouteLogin": {func(c *embedded.Config) { c.Routes = []string{"nats://me:secret@127.0.0.1:6222"} },
			embedded.ErrConfig, "login"},
		"File": {func(c *embedded.Config) { c.Listen, c.DataDir, c.ConfigFile = "", "", "nats.conf" },
			embedded.ErrConfig, "cluster.routes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := jstest.MemberConfigs(t, 2)[0]
			test.change(&cfg)
			s, err := embedded.Start(cfg)
			if err == nil {
				s.Shutdown()
			}
			jstest.WantError(t, err, test.kind, test.words)
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("error %q shows a password", err)
			}
		})
	}
}
