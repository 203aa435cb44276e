package embedded

import (
	"errors"
	"log/slog"

	"github.com/nats-io/nats-server/v2/server"
)

// instance is one run of the NATS server.
type instance struct {
	*server.Server
	opts  *server.Options
	lines *serverLogger
	// helper runs while the only member of a cluster elects itself; nil otherwise.
	helper *server.Server
}

// startInstance returns when the instance accepts connections.
func startInstance(opts *server.Options, log *slog.Logger) (*instance, error) {
	lines := newServerLogger(log)
	if !opts.SyncAlways {
		lines.Warnf("JetStream does not sync every write: a power cut can lose locks that were granted")
	}
	running, err := run(opts, lines)
	if err != nil {
		return nil, err
	}
	helper, err := startHelper(opts)
	if err != nil {
		stop(running)
		return nil, err
	}
	return &instance{Server: running, opts: opts, lines: lines, helper: helper}, nil
}

// stop returns when the instance has stopped. It may be called more than once.
func (n *instance) stop() {
	stop(n.helper)
	stop(n.Server)
}

// failure returns why the instance does not store, nil if it does.
func (n *instance) failure() error {
	select {
	case line := <-n.lines.writeErrors:
		return errors.New(line)
	default:
	}
	if n.Running() && !n.JetStreamEnabled() {
		return errors.New("JetStream has been shut down")
	}
	return nil
}
