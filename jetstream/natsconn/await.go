package natsconn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/jetstream/internal/retry"
)

// awaitEvery is the pause between two attempts of [Await].
const awaitEvery = 500 * time.Millisecond

// Await waits until a connection can be made, see [Open]. While no server is reachable it logs that and tries again,
// until ctx ends. Any other error, as of refused credentials, ends it at once.
func Await(ctx context.Context, of nats.Options, name string, log *slog.Logger, opts ...nats.Option) error {
	for reminder := (retry.Reminder{}); ; {
		nc, err := Open(of, name, log, opts...)
		if err == nil {
			nc.Close()
		}
		if err == nil || !isAway(err) {
			return err
		}
		if reminder.IsDue() {
			cmp.Or(log, slog.Default()).Warn("waiting for NATS", "error", err)
		}
		if stopped := retry.Pause(ctx, awaitEvery); stopped != nil {
			return fmt.Errorf("%w (%w)", err, stopped)
		}
	}
}

// isAway reports whether no server has answered.
func isAway(err error) bool {
	if dial := new(net.OpError); errors.As(err, &dial) {
		return dial.Op == "dial"
	}
	return errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout)
}
