// Package stand sets up what an integration test stands on: a real embedded NATS server and a lock
// node on it, in the test's own process.
package stand

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
)

// patience bounds every wait of the stand. Nothing is measured by it.
const patience = time.Minute

// Config is what may differ between stands. The zero value is the service's default.
type Config struct {
	// Data is where the server stores; empty for a folder of the test's.
	Data     string
	Shards   uint32
	Tuning   actors.Tuning
	Capacity node.Capacity
	Limits   *messages.Limits
	// Log is where all of it logs; nil for the test's own log, from warnings on.
	Log *slog.Logger
}

// Stand is a server and a node.
type Stand struct {
	testing.TB
	Server     *jetstream.Server
	Deployment *jetstream.Deployment
	Node       *node.Node
	storage    *nats.Conn
	config     Config
}

// Start starts a stand, which ends with the test.
func Start(tb testing.TB, cfg Config) *Stand {
	tb.Helper()
	if cfg.Data == "" {
		cfg.Data = tb.TempDir()
	}
	if cfg.Limits == nil {
		cfg.Limits = messages.DefaultLimits()
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.NewTextHandler(tb.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	s := &Stand{TB: tb, config: cfg}
	s.start()
	tb.Cleanup(s.Stop)
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
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if s.Node != nil {
		if err := s.Node.Close(ctx); err != nil {
			s.Error(err)
		}
	}
	if s.storage != nil {
		s.storage.Close()
	}
	s.Node, s.storage = nil, nil
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

func (s *Stand) start() {
	s.Helper()
	var err error
	s.Server, err = jetstream.StartServer(jetstream.ServerConfig{
		Name: "stand", Listen: "127.0.0.1:-1", DataDir: s.config.Data, Log: s.config.Log,
	})
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
	s.Node, err = node.Start(ctx, node.Config{
		Name: "stand", Version: "0.0.0", Prefix: messages.DefaultPrefix,
		Shards: s.Deployment.Shards(), Limits: s.config.Limits, Tuning: s.config.Tuning, Capacity: s.config.Capacity,
		Journal: func(shard uint32) actors.Journal { return s.Deployment.Bucket(shard) },
		Clock:   actors.SystemClock(), Intake: s.internal(), Outbox: s.internal(), Log: s.config.Log,
	})
	if err != nil {
		s.Fatal(err)
	}
}

// internal is a connection inside the process, as the service uses them.
func (s *Stand) internal() *nats.Conn {
	s.Helper()
	nc, err := s.Server.Connect()
	if err != nil {
		s.Fatal(err)
	}
	return nc
}
