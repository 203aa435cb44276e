package embedded

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

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
	// maxBackoff between two restarts bounds how long a disk that works again stays unused.
	maxBackoff = 15 * time.Second
)

// supervisor keeps NATS storing. After a write error NATS ends the Raft group or the store concerned, or all
// of JetStream, and starts none of them again in the process. The supervisor restarts NATS when its disk takes
// data again.
type supervisor struct {
	runner *runner
	// fault is an [ErrStore] while the instance does not store, nil otherwise.
	fault atomic.Pointer[error]
	// end stops the supervisor and waits for it.
	end func()
}

// supervise keeps NATS storing until the supervisor's end.
func supervise(r *runner) *supervisor {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	s := &supervisor{runner: r, end: func() { cancel(); <-done }}
	go func() {
		defer close(done)
		for retry.Pause(ctx, faultPoll) == nil {
			if why := s.runner.present().failure(); why != nil { // mutant: WriteErrorIsFinal
				s.recoverStore(ctx, why)
			}
		}
	}()
	return s
}

func (s *supervisor) setFault(why error) {
	fault := fmt.Errorf("%w: %w", ErrStore, why)
	s.fault.Store(&fault)
}

// recoverStore restarts the instance when its disk takes data again, and returns when it stores, or when ctx ends.
func (s *supervisor) recoverStore(ctx context.Context, why error) {
	began, log, dir := time.Now(), s.runner.cfg.Log, s.runner.present().opts.StoreDir
	s.setFault(why)
	log.Error("this node cannot store on its disk; NATS in this process restarts when the disk takes data again",
		"error", why, "disk", probeDisk(dir), "data", dir)
	backoff := retry.Backoff{Min: faultPoll, Max: maxBackoff}
	for err := s.attempt(ctx, dir); err != nil; err = s.attempt(ctx, dir) {
		s.setFault(err)
		log.Debug("NATS in this process does not store yet", "error", err)
		if backoff.Wait(ctx) != nil {
			return
		}
	}
	// A warning, so that the end of a fault is visible at the same log levels as its beginning.
	log.Warn("this node stores on its disk again", "after", time.Since(began).Round(time.Millisecond))
	s.fault.Store(nil)
}

// attempt restarts the instance once its disk takes data, and returns nil when it stores.
func (s *supervisor) attempt(ctx context.Context, dir string) error {
	if err := s.awaitDisk(ctx, dir); err != nil {
		return err
	}
	if err := s.runner.restart(ctx); err != nil {
		return err
	}
	return s.awaitStable(ctx)
}

// awaitDisk returns nil when the disk of the data directory takes data.
func (s *supervisor) awaitDisk(ctx context.Context, dir string) error {
	for good := 0; good < probesNeeded; {
		if err := retry.Pause(ctx, faultPoll); err != nil {
			return err
		}
		good++
		if err := probeDisk(dir); err != nil {
			good = 0
			s.setFault(err)
		}
	}
	return nil
}

// awaitStable returns nil when the new instance has joined its cluster and has run for stableTime, and why it
// does not store if there is a fault before.
func (s *supervisor) awaitStable(ctx context.Context) error {
	n := s.runner.present()
	for began := time.Now(); time.Since(began) < stableTime || !hasQuorum(n.Server); {
		if err := retry.Pause(ctx, faultPoll); err != nil {
			return err
		}
		if why := n.failure(); why != nil {
			return why
		}
		if hasQuorum(n.Server) {
			stop(n.helper)
		}
	}
	return nil
}
