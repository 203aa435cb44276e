// Package server runs a node of Holdfast in a Go program: with connections of its own to a NATS server that the program
// uses, or with a NATS server in the process.
//
//	err := server.Run(ctx, server.Config{Config: node.Config{Name: "n1"}, NATS: &nc.Opts})
//
// `holdfast serve` is this and the settings of a command line, package holdfasttest this and a test. The package handles
// no signals, exits no process, and has no state beside its values, so a process may run several nodes, of one
// deployment or of several.
package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/jetstream/natsconn"
)

const (
	// startTimeout bounds the start of the node once NATS is available: the leases of a full shard are read
	// in seconds. The wait for a cluster's quorum has no bound, because the other members start
	// independently.
	startTimeout = 2 * time.Minute
	// stopTimeout leaves enough time to answer all requests, and ends before a supervisor kills the process.
	stopTimeout = 10 * time.Second
)

// Server is a running node with its NATS server. [Server.Stop] and [Server.Wait] may be called from any
// goroutine, but only one of them and once; the other methods are safe for concurrent use with them except
// where they say so.
type Server struct {
	cfg  Config
	nats *embedded.Server // nil if NATS is external
	node *instance        // nil while the node is stopped
	// lent are the connections of [Server.Connect].
	lent []*nats.Conn
}

// Run runs a node until ctx ends. It returns nil after the node has stopped in order, as [Server.Stop] says, and an error
// if the node cannot start or fails. It is [Start] and [Server.Wait], for a caller that needs no [Server].
func Run(ctx context.Context, cfg Config) error {
	s, err := Start(ctx, cfg)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // interrupted before the node was ready
	case err != nil:
		return err
	}
	return s.Wait(ctx)
}

// Start starts the server and returns when the node serves requests. ctx bounds the start alone, in which it waits for
// NATS and for a quorum of its servers. If a part fails to start, it stops
// those that run and returns the error.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	s := &Server{cfg: cfg.withDefaults()}
	if err := s.startNATS(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	if err := s.StartNode(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *Server) startNATS(ctx context.Context) (err error) {
	if s.cfg.NATS != nil {
		return natsconn.Await(ctx, *s.cfg.NATS, "holdfast "+s.cfg.Name, s.cfg.Log, s.cfg.Login...)
	}
	if s.nats, err = embedded.Start(s.cfg.Embedded); err != nil {
		return err
	}
	return s.nats.AwaitQuorum(ctx)
}

// Wait returns after ctx ends and the server has stopped cleanly, or with an error after the node has
// failed. It stops the server in both cases.
func (s *Server) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		s.cfg.Log.Info("stopping", "reason", context.Cause(ctx), "timeout", s.cfg.StopTimeout)
		return s.Stop()
	case <-s.node.node.Lost():
		if err := s.node.node.Err(); err != nil {
			return errors.Join(err, s.Stop())
		}
		return errors.Join(fmt.Errorf("NATS closed the connection permanently: %w", s.node.connections.reason()),
			s.Stop())
	}
}

// Stop stops everything in the reverse order of the start, within [Config.StopTimeout]. Requests in progress
// are answered, and the leaderships of an embedded NATS server in a cluster are transferred.
func (s *Server) Stop() error {
	s.cfg.Health.Stopping()
	over := time.NewTimer(s.cfg.StopTimeout)
	defer over.Stop()
	done := make(chan error, 1)
	go func() { done <- s.stop() }()
	select {
	case err := <-done:
		return err
	case <-over.C:
		return fmt.Errorf("NATS did not stop within %s; confirmed changes are safe", s.cfg.StopTimeout)
	}
}

func (s *Server) stop() error {
	err := s.stopNode()
	if s.nats != nil {
		s.nats.Resign(context.Background()) // before the connections close: transfers need them
	}
	if s.node != nil {
		s.node.connections.close()
	}
	for _, nc := range s.lent {
		nc.Close()
	}
	if s.nats != nil {
		s.nats.Shutdown()
	}
	return err
}

// stopNode leaves the last three tenths of the timeout to NATS.
func (s *Server) stopNode() error {
	if s.node == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.StopTimeout*7/10)
	defer cancel()
	return s.node.stop(ctx)
}

// StartNode starts the node again after [Server.StopNode] or [Server.CrashNode]. It must not run
// concurrently with another method.
func (s *Server) StartNode(ctx context.Context) error {
	connections, err := s.openConnections()
	if err != nil {
		return err
	}
	s.node = &instance{cfg: s.cfg, nats: s.nats, connections: connections}
	if err := s.node.start(ctx); err != nil {
		return err
	}
	s.cfg.Health.Started(s.node.node)
	return nil
}

// StopNode stops the node and leaves the NATS server running. It must not run concurrently with another
// method.
func (s *Server) StopNode() error {
	err := s.stopNode()
	if s.node != nil {
		s.node.connections.close()
		s.node = nil
	}
	return err
}

// CutEvents closes the connection that publishes events, as a network failure would.
func (s *Server) CutEvents() { s.node.connections.events.Close() }

// CrashNode ends the node without a last write or event, as the death of its process would. The NATS server
// goes on. It must not run concurrently with another method.
func (s *Server) CrashNode() {
	s.CutEvents()
	s.node.connections.storage.Close()
	_ = s.StopNode() // it cannot store or answer any more
}

// Reload reads the files of the embedded NATS server again: certificates and logins. If one cannot be used, it returns
// why and changes nothing. Without an embedded server it does nothing: connections to an external one read their files
// each time.
func (s *Server) Reload() error {
	if s.nats == nil {
		return nil
	}
	return s.nats.Reload()
}

// ClientURL returns the URL at which clients reach NATS. With an external NATS it may contain secrets.
func (s *Server) ClientURL() string {
	if s.nats == nil {
		return natsconn.URL(*s.cfg.NATS)
	}
	return s.nats.ClientURL()
}

// DataDir returns the data directory of the embedded NATS server, and "" if NATS is external.
func (s *Server) DataDir() string {
	if s.nats == nil {
		return ""
	}
	return s.nats.DataDir()
}

// StorageName returns the name of the NATS server that stores the journals for this node.
func (s *Server) StorageName() string { return s.node.connections.storage.ConnectedServerName() }

// Connect returns a connection with the rights of the node, for another part of this process. [Server.Stop] closes it.
// It must not run concurrently with another method.
func (s *Server) Connect(role string) (*nats.Conn, error) {
	nc, err := s.dial("holdfast " + s.cfg.Name + " " + role)
	if err == nil {
		s.lent = append(s.lent, nc)
	}
	return nc, err
}

// Node returns the running node.
func (s *Server) Node() *node.Node { return s.node.node }

// Deployment returns the deployment of the running node.
func (s *Server) Deployment() *jetstream.Deployment { return s.node.deployment.Load().Deployment }
