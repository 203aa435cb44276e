package embedded

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/holdfast-io/holdfast/jetstream/internal/retry"
)

const (
	// faultPoll is the interval of the checks whether the server stores and its disk takes data.
	faultPoll = time.Second
	// probesNeeded is the number of successful probes in a row. A single one may fit into space that NATS has
	// just freed on a disk that is still filling.
	probesNeeded = 2
	// stableTime without a new fault ends a fault.
	stableTime = 5 * time.Second
	// longestBackoff between two restarts bounds how long a disk that works again stays unused.
	longestBackoff = 15 * time.Second
	// stopBound bounds the stop of an instance whose disk fails. It cannot be replaced before it has stopped.
	stopBound = time.Minute
)

// startSupervision keeps the server storing until [Server.Shutdown]. After a write error NATS ends the Raft
// group or the store concerned, or all of JetStream, and starts none of them again in the process.
func (s *Server) startSupervision() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	s.endSupervision = func() { cancel(); <-done }
	go func() {
		defer close(done)
		for retry.Pause(ctx, faultPoll) == nil {
			if why := s.nats().failure(); why != "" {
				s.recoverStore(ctx, why)
			}
		}
	}()
}

// failure returns why the instance does not store, empty if it does.
func (n *instance) failure() string {
	select {
	case line := <-n.lines.writeErrors:
		return line
	default:
	}
	if n.Running() && !n.JetStreamEnabled() {
		return "JetStream has been shut down"
	}
	return ""
}

// recoverStore restarts the instance when its disk takes data again, and returns when it stores, or when ctx ends.
func (s *Server) recoverStore(ctx context.Context, why string) {
	began := time.Now()
	s.fault.set(fmt.Errorf("%w: %s", ErrStore, why))
	s.log.Error("this node cannot store on its disk; NATS in this process restarts when the disk takes data again",
		"error", why, "disk", probeDisk(s.DataDir()), "data", s.DataDir())
	for backoff := (retry.Backoff{Min: faultPoll, Max: longestBackoff}); ; {
		if s.awaitDisk(ctx) != nil {
			return
		}
		err := s.restart(ctx)
		if err == nil && s.isStable(ctx) {
			break
		}
		if err != nil {
			s.fault.set(fmt.Errorf("%w: %w", ErrStore, err))
			s.log.Debug("NATS in this process has not restarted", "error", err)
		}
		if backoff.Wait(ctx) != nil {
			return
		}
	}
	s.fault.clear()
	// A warning, so that the end of a fault is visible at the same log levels as its beginning.
	s.log.Warn("this node stores on its disk again", "after", time.Since(began).Round(time.Millisecond))
}

// awaitDisk returns nil when the disk of the data directory takes data.
func (s *Server) awaitDisk(ctx context.Context) error {
	for good := 0; good < probesNeeded; {
		if err := retry.Pause(ctx, faultPoll); err != nil {
			return err
		}
		good++
		if err := probeDisk(s.DataDir()); err != nil {
			good = 0
			s.fault.set(fmt.Errorf("%w: %w", ErrStore, err))
		}
	}
	return nil
}

// restart replaces the instance by a new one with the same settings, at the same addresses.
func (s *Server) restart(ctx context.Context) error {
	opts, err := s.nats().optionsAgain(s.cfg)
	if err != nil {
		return err
	}
	s.Resign(ctx)
	stopped := make(chan struct{})
	go func(n *instance) { n.stop(); close(stopped) }(s.nats())
	select {
	case <-stopped:
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(stopBound):
		return fmt.Errorf("it has not stopped within %v", stopBound)
	}
	return s.start(opts)
}

// optionsAgain reads the settings for the next instance.
func (n *instance) optionsAgain(cfg Config) (*server.Options, error) {
	opts, err := cfg.options()
	if err != nil {
		return nil, err
	}
	if opts.StoreDir != n.opts.StoreDir {
		return nil, fmt.Errorf("%w: %s names the store_dir %s, it was %s; set it back, or restart the process",
			ErrConfig, cfg.ConfigFile, opts.StoreDir, n.opts.StoreDir)
	}
	if opts.Port <= 0 {
		opts.Port = n.opts.Port // the free port of the first start stays the same
	}
	if opts.Cluster.Port < 0 {
		opts.Cluster.Port = n.opts.Cluster.Port
	}
	return opts, nil
}

// isStable reports whether the new instance has joined its cluster and runs for stableTime without a fault.
func (s *Server) isStable(ctx context.Context) bool {
	for began := time.Now(); time.Since(began) < stableTime || !s.hasQuorum(); {
		if retry.Pause(ctx, faultPoll) != nil {
			return false
		}
		if why := s.nats().failure(); why != "" {
			s.fault.set(fmt.Errorf("%w: %s", ErrStore, why))
			return false
		}
		if s.hasQuorum() {
			s.nats().stopHelper()
		}
	}
	return true
}
