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
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// patience bounds the end of a client. Nothing is measured by it.
const patience = time.Minute

// Server is a service that runs until its test ends.
type Server struct {
	tb    testing.TB
	stand *stand.Stand
	url   string
}

// Start starts a service for a test, with an empty store. If that fails, so does the test.
func Start(tb testing.TB) *Server {
	tb.Helper()
	s := stand.Start(tb, stand.Config{})
	return &Server{tb: tb, stand: s, url: s.Server.ClientURL()}
}

// URL returns where NATS clients of any language find the service, also while it is stopped.
func (s *Server) URL() string { return s.url }

// Connect returns a NATS connection to the service, which ends with the test.
func (s *Server) Connect(opts ...nats.Option) *nats.Conn {
	s.tb.Helper()
	return s.stand.Connect(opts...)
}

// Client returns a client on a connection of its own. Both end with the test, and what the client still
// holds is released.
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
			s.tb.Logf("a client was closed: %v", err)
		}
	})
	return c
}

// Restart ends the service and starts it again, at the same address and with what it had stored. Locks
// survive that; clients connect again by themselves.
func (s *Server) Restart() {
	s.tb.Helper()
	s.stand.Restart()
}

// Stop ends the service, as a crash of the only node would. [Server.Restart] starts it again.
func (s *Server) Stop() {
	s.tb.Helper()
	s.stand.Stop()
}
