// Package stand sets up what an integration test stands on: a real embedded NATS server and a lock
// node on it, in the test's own process.
package stand

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
)

// patience bounds every wait of the stand. Nothing is measured by it.
const patience = time.Minute

// Config is what may differ between stands. The zero value is the service's default.
type Config struct {
	// ConfigFile makes the server what it says; Login is how the node logs in there.
	ConfigFile string
	Login      nats.Option

	Shards   uint32
	Tuning   actors.Tuning
	Capacity node.Capacity
	Limits   *messages.Limits
	// NoEvents publishes none.
	NoEvents bool
	// Retention is how long events stay in a stream; 0: they do not.
	Retention time.Duration
	// Log is where all of it logs; nil for the test's own log, from warnings on.
	Log *slog.Logger
}

// Stand is a server and a node.
type Stand struct {
	testing.TB
	Server     *jetstream.Server
	Deployment *jetstream.Deployment
	Node       *node.Node
	// storage and events are connections that a crash cuts; events is nil if none are published.
	storage, events *nats.Conn
	config          Config
	// listen is where the server is found, also after a restart; data is where it stores, unless its file
	// says so.
	listen, data string
}

// Start starts a stand, which ends with the test.
func Start(tb testing.TB, cfg Config) *Stand {
	tb.Helper()
	if cfg.Limits == nil {
		cfg.Limits = messages.DefaultLimits()
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.NewTextHandler(tb.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	s := &Stand{TB: tb, config: cfg, listen: "127.0.0.1:-1"}
	if cfg.ConfigFile == "" {
		s.data = tb.TempDir()
	}
	s.start()
	tb.Cleanup(s.Stop)
	s.listen = strings.TrimPrefix(s.Server.ClientURL(), "nats://")
	return s
}

// Restart ends server and node, and starts them again on the same data.
func (s *Stand) Restart() {
	s.Helper()
	s.Stop()
	s.start()
}

// Stop ends server and node in good order. It may be called twice.
func (s *Stand) Stop() {
	s.Helper()
	if s.Server == nil {
		return
	}
	s.StopNode()
	s.Server.Shutdown()
	s.Server = nil
}

// StopNode ends the node alone. It may be called twice.
func (s *Stand) StopNode() {
	s.Helper()
	if err := s.endNode(); err != nil {
		s.Error(err)
	}
}

func (s *Stand) endNode() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if s.Node != nil {
		err = s.Node.Close(ctx)
	}
	if s.storage != nil {
		s.storage.Close()
	}
	s.Node, s.storage = nil, nil
	return err
}

// CutEvents lets the node publish nothing any more until it is started again.
func (s *Stand) CutEvents() {
	if s.events != nil {
		s.events.Close()
	}
}

// CrashNode ends the node as if its process had died, as far as NATS can see: nothing more is stored
// or published.
func (s *Stand) CrashNode() {
	s.Helper()
	s.CutEvents()
	s.storage.Close()
	_ = s.endNode() // it finds that it cannot answer, which nobody hears of a crash
}

// Connect returns a client's connection over TCP, which ends with the test.
func (s *Stand) Connect(opts ...nats.Option) *nats.Conn {
	s.Helper()
	nc, err := nats.Connect(s.Server.ClientURL(), opts...)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(nc.Close)
	return nc
}

// URL returns where clients find the server, also while it is stopped.
func (s *Stand) URL() string { return "nats://" + s.listen }

// Client returns a client on a connection of its own. Both end with the test.
func (s *Stand) Client(opts ...holdfast.Option) *holdfast.Client {
	s.Helper()
	c, err := holdfast.New(s.Connect(), opts...)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = c.Close(ctx)
	})
	return c
}

func (s *Stand) start() {
	s.Helper()
	var err error
	cfg := jetstream.ServerConfig{Name: "stand", Listen: s.listen, DataDir: s.data, Log: s.config.Log}
	if s.config.ConfigFile != "" {
		cfg.Listen, cfg.ConfigFile = "", s.config.ConfigFile
	}
	s.Server, err = jetstream.StartServer(cfg)
	if err != nil {
		s.Fatal(err)
	}
	s.StartNode()
}

// StartNode starts the node, on a server that runs.
func (s *Stand) StartNode() {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s.storage = s.internal()
	var err error
	s.Deployment, err = jetstream.OpenDeployment(ctx, s.storage, jetstream.DeploymentConfig{
		Prefix: messages.DefaultPrefix, Shards: s.config.Shards, Log: s.config.Log,
	})
	if err != nil {
		s.Fatal(err)
	}
	if s.events = nil; !s.config.NoEvents {
		s.events = s.internal(nats.NoEcho())
	}
	s.Node, err = node.Start(ctx, node.Config{
		Name: "stand", Version: "0.0.0", Prefix: messages.DefaultPrefix,
		Shards: s.Deployment.Shards(), Limits: s.config.Limits, Tuning: s.config.Tuning, Capacity: s.config.Capacity,
		Journal: func(shard uint32) actors.Journal { return s.Deployment.Bucket(shard) },
		Clock:   actors.SystemClock(), Intake: s.internal(), Outbox: s.internal(), Events: s.events, Retainer: s.retainer(ctx), Log: s.config.Log,
	})
	if err != nil {
		s.Fatal(err)
	}
}

// retainer stores events if they are to be stored.
func (s *Stand) retainer(ctx context.Context) actors.Publisher {
	s.Helper()
	if s.events == nil {
		return nil
	}
	stream, err := s.Deployment.Events(ctx, s.events, jetstream.EventsConfig{
		Retention: s.config.Retention, Log: s.config.Log,
	})
	if err != nil {
		s.Fatal(err)
	}
	if stream == nil {
		return nil
	}
	return stream
}

// internal is a connection inside the process, as the service uses them.
func (s *Stand) internal(opts ...nats.Option) *nats.Conn {
	s.Helper()
	if s.config.Login != nil {
		opts = append(opts, s.config.Login)
	}
	nc, err := s.Server.Connect(opts...)
	if err != nil {
		s.Fatal(err)
	}
	return nc
}
