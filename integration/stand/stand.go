// Package stand provides what the integration tests run on: a server in the test's process, and nodes as
// processes of the real binary.
package stand

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/actors/node/identity"
	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages"
)

// patience bounds every wait of this package. It measures nothing.
const patience = time.Minute

// Config configures a stand. The zero value has the defaults of the service.
type Config struct {
	// ConfigFile is a configuration of NATS for the server, and Login authenticates the node there.
	ConfigFile string
	Login      nats.Option
	// DataDir has the data; empty: a new directory, as long as there is no ConfigFile.
	DataDir string

	// Shards is their number; 0: 4, so that tests use more than one.
	Shards   uint32
	Tuning   actors.Tuning
	Capacity node.Capacity
	Limits   *messages.Limits
	// Tenants are the accounts with resources of their own; nil: there are none.
	Tenants map[string]node.TenantLimits
	// Identity says whose owners the node verifies; empty: nobody's.
	Identity identity.Mode
	// Retention is how long the event stream keeps events; 0: there is none.
	Retention time.Duration
	// Observer receives what the node does; nil: nothing is.
	Observer node.Observer
	// Tracer receives traced requests; nil: there is no tracer.
	Tracer node.Tracer
	// Log receives all logs; nil: the log of the test, from warnings on.
	Log *slog.Logger
}

// Stand is a server in the process of its test. Its methods fail the test on an error.
type Stand struct {
	testing.TB
	Server     *server.Server // nil while it is stopped
	Deployment *jetstream.Deployment
	config     server.Config
	url        string
}

// Start starts a stand, which stops at the end of the test.
func Start(tb testing.TB, cfg Config) *Stand {
	tb.Helper()
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.NewTextHandler(tb.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	s := &Stand{TB: tb, config: server.Config{
		Config: node.Config{
			Name: "stand", Version: "0.0.0", Shards: cmp.Or(cfg.Shards, 4),
			Limits: cfg.Limits, Capacity: cfg.Capacity, Tenants: cfg.Tenants, Identity: cfg.Identity,
			Tuning: cfg.Tuning, Observer: cfg.Observer, Tracer: cfg.Tracer, Log: log,
		},
		Alone: true, Retention: cfg.Retention, StopTimeout: patience,
		Embedded: embedded.Config{ConfigFile: cfg.ConfigFile},
	}}
	if cfg.Login != nil {
		s.config.Login = []nats.Option{cfg.Login}
	}
	if cfg.ConfigFile == "" {
		s.config.Embedded.Listen, s.config.Embedded.DataDir = "127.0.0.1:-1", cfg.DataDir
		if cfg.DataDir == "" {
			s.config.Embedded.DataDir = tb.TempDir()
		}
	}
	s.start()
	tb.Cleanup(s.Stop)
	s.url = s.Server.ClientURL()
	if cfg.ConfigFile == "" {
		s.config.Embedded.Listen = strings.TrimPrefix(s.url, "nats://")
	}
	return s
}

func (s *Stand) start() {
	s.Helper()
	s.do(func(ctx context.Context) (err error) {
		s.Server, err = server.Start(ctx, s.config)
		return err
	})
	s.Deployment = s.Server.Deployment()
}

// do ends the test if start fails.
func (s *Stand) do(start func(context.Context) error) {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := start(ctx); err != nil {
		s.Fatal(err)
	}
}

// Restart stops the server and starts it again at the same address and with the same data.
func (s *Stand) Restart() {
	s.Helper()
	s.Stop()
	s.start()
}

// Stop stops the server. It may be called twice.
func (s *Stand) Stop() {
	s.Helper()
	if s.Server == nil {
		return
	}
	if err := s.Server.Stop(); err != nil {
		s.Error(err)
	}
	s.Server = nil
}

// StopNode stops the node and leaves NATS running. It may be called twice.
func (s *Stand) StopNode() {
	s.Helper()
	if err := s.Server.StopNode(); err != nil {
		s.Error(err)
	}
}

// StartNode starts the node on a NATS server that runs.
func (s *Stand) StartNode() {
	s.Helper()
	s.do(s.Server.StartNode)
	s.Deployment = s.Server.Deployment()
}

// CutEvents stops the publishing of events until the node is started again.
func (s *Stand) CutEvents() { s.Server.CutEvents() }

// CrashNode ends the node as the death of its process would: nothing more is stored or published.
func (s *Stand) CrashNode() { s.Server.CrashNode() }

// URL returns the URL of NATS, also while the server is stopped.
func (s *Stand) URL() string { return s.url }

// Connect is [Dial] to the stand's server.
func (s *Stand) Connect(opts ...nats.Option) *nats.Conn {
	s.Helper()
	return Dial(s, s.Server.ClientURL(), opts...)
}

// Client returns a client on a connection of its own. Both end with the test.
func (s *Stand) Client(opts ...holdfast.Option) *holdfast.Client {
	s.Helper()
	return Client(s, s.Connect(), opts...)
}
