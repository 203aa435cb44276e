// Package holdfasttest gives a test a Holdfast service of its own in one line: a real NATS server with a
// real lock node, in the test's process, on a free port of the loopback interface.
//
//	client := holdfasttest.Start(t).Client()
//
// What an application does when it loses a lock takes a test three lines:
//
//	err := client.Do(ctx, "order:42", func(ctx context.Context, _ *holdfast.Lock) error {
//		s.EndLease("order:42") // or s.DropRenewals, or s.Stop
//		return work(ctx)
//	})
//
// It is for tests only: it brings the whole service with it, which a program that imports the client
// alone does not get.
package holdfasttest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/integration/relay"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages"
)

// patience bounds the start and the end of a service and of its clients. It measures nothing.
const patience = time.Minute

// Server is a service that runs until its test ends. Its methods fail the test on an error.
type Server struct {
	tb      testing.TB
	config  server.Config
	running *server.Server // nil while it is stopped
	relay   *relay.Relay
	faults  *faults
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
	s.faults = newFaults()
	s.Start()
	url := s.running.ClientURL()
	s.config.Embedded.Listen = strings.TrimPrefix(url, "nats://")
	var err error
	s.relay, err = relay.Listen(url, s.faults.judge, nil)
	tb.Cleanup(s.Stop)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.relay.Close)
	return s
}

// Start starts the service again after [Server.Stop], at the same address and with the same store. Locks survive that;
// clients reconnect by themselves. While it runs it does nothing.
func (s *Server) Start() {
	s.tb.Helper()
	if s.running != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var err error
	if s.running, err = server.Start(ctx, s.config); err != nil {
		s.tb.Fatal(err)
	}
}

// URL returns the URL at which NATS clients of any language find the service, also while it is stopped. Faults concern
// all of them.
func (s *Server) URL() string { return s.relay.URL() }

// Connect returns a NATS connection to the service, by [holdfast.Connect]. It closes at the end of the test.
func (s *Server) Connect(opts ...nats.Option) *nats.Conn {
	s.tb.Helper()
	nc, err := holdfast.Connect(s.URL(), opts...)
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

// Stop stops the service, and its clients lose their connections. [Server.Start] starts it again.
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

// EndLease ends the leases of a resource now, as an operator does who breaks them. The holder learns it from an event,
// or when it renews: its lock is [holdfast.ErrLost] with [holdfast.ErrNotHeld]. The resource must be held. It may be
// called from any goroutine.
func (s *Server) EndLease(resource string) {
	s.tb.Helper()
	s.each(resource, func(ctx context.Context, c *holdfast.Client, l holdfast.Lease) error {
		return c.Break(ctx, resource, l.Token, "ended by a test")
	})
}

// DropRenewals has the renewals of the present leases of a resource lost on their way to the service, so that they run
// out. The holder counts its lock as lost before that, by its own clock: it is [holdfast.ErrLost] alone. Other locks
// that the client renews in one session with it may run out, too; later leases of the resource do not. The resource
// must be held. It may be called from any goroutine.
func (s *Server) DropRenewals(resource string) {
	s.tb.Helper()
	s.each(resource, func(_ context.Context, _ *holdfast.Client, l holdfast.Lease) error {
		key, err := messages.EncodeKey(l.Resource)
		s.faults.drop(lease{key, uint64(l.Token)})
		return err
	})
}

// DelayGrants has each request for a lock reach the service later by d, from now on; 0: at once again. Renewals and
// releases are not delayed. It may be called from any goroutine.
func (s *Server) DelayGrants(d time.Duration) { s.faults.setDelay(d) }

// each does something with each lease of a resource.
func (s *Server) each(resource string, do func(context.Context, *holdfast.Client, holdfast.Lease) error) {
	s.tb.Helper()
	if err := s.tryEach(resource, do); err != nil {
		s.tb.Error(err) // Fatal is for the goroutine of the test alone
	}
}

func (s *Server) tryEach(resource string, do func(context.Context, *holdfast.Client, holdfast.Lease) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.tb.Context()), patience)
	defer cancel()
	nc, err := holdfast.Connect(s.URL())
	if err != nil {
		return err
	}
	defer nc.Close()
	c, err := holdfast.New(nc)
	if err != nil {
		return err
	}
	state, err := c.Get(ctx, resource)
	if err == nil && !state.Held {
		err = fmt.Errorf("%q is not held", resource)
	}
	if err == nil {
		for _, l := range state.Holders {
			err = errors.Join(err, do(ctx, c, l))
		}
	}
	return errors.Join(err, c.Close(ctx))
}
