// Package holdfasttest gives a test a Holdfast service of its own in one line: a real NATS server with a
// real lock node, in the test's process, on a free port of the loopback interface.
//
//	client := holdfasttest.Start(t).Client()
//
// It is for tests only: it brings the whole service with it, which a program that imports the client
// alone does not get.
package holdfasttest

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
)

// patience bounds the start and the end of a service and of its clients. It measures nothing.
const patience = time.Minute

// Server is a service that runs until its test ends. Its methods fail the test on an error.
type Server struct {
	tb      testing.TB
	config  server.Config
	running *server.Server // nil while it is stopped
	url     string
}

// Start starts a service with an empty store, which stops at the end of the test. If it cannot start, the
// test fails.
func Start(tb testing.TB) *Server {
	tb.Helper()
	log := slog.New(slog.NewTextHandler(tb.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	s := &Server{tb: tb, config: server.Config{
		StopTimeout: patience, Embedded: embedded.Config{Listen: "127.0.0.1:-1", DataDir: tb.TempDir()},
	}}
	s.config.Name, s.config.Log = "test", log
	s.start()
	tb.Cleanup(s.Stop)
	s.url = s.running.ClientURL()
	s.config.Embedded.Listen = strings.TrimPrefix(s.url, "nats://")
	return s
}

func (s *Server) start() {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var err error
	if s.running, err = server.Start(ctx, s.config); err != nil {
		s.tb.Fatal(err)
	}
}

// URL returns the URL at which NATS clients of any language find the service, also while it is stopped.
func (s *Server) URL() string { return s.url }

// Connect returns a NATS connection to the service. It closes at the end of the test.
func (s *Server) Connect(opts ...nats.Option) *nats.Conn {
	s.tb.Helper()
	nc, err := nats.Connect(s.url, opts...)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(nc.Close)
	return nc
}

// Client returns a client on a connection of its own. At the end of the test it releases its locks, and both
// are closed.
func (s *Server) Client(opts ...holdfast.Option) *holdfast.Client {
	s.tb.Helper()
	c, err := holdfast.New(s.Connect(), opts...)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.tb.Context()), patience)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			s.tb.Logf("close a client: %v", err)
		}
	})
	return c
}

// Restart stops the service and starts it again at the same address and with the same store. Locks survive
// that; clients reconnect by themselves.
func (s *Server) Restart() {
	s.tb.Helper()
	s.Stop()
	s.start()
}

// Stop stops the service, and its clients lose their connections. [Server.Restart] starts it again.
func (s *Server) Stop() {
	s.tb.Helper()
	if s.running == nil {
		return
	}
	if err := s.running.Stop(); err != nil {
		s.tb.Error(err)
	}
	s.running = nil
}
