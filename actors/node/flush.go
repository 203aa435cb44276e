package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// flushTimeout bounds one question whether NATS has handled what was sent on a connection.
	flushTimeout = 5 * time.Second
	// flushPause is between two questions.
	flushPause = 100 * time.Millisecond
)

// flush does something on the connection, and returns when NATS has handled it. If the connection is
// interrupted meanwhile, do is done again when it is back; subscriptions come back by themselves. The wait is
// logged once, and ends with ctx. nats.go calls an interruption ErrConnectionClosed, too.
func flush(ctx context.Context, nc *nats.Conn, log *slog.Logger, do func() error) error {
	for said := false; ; said = true {
		err := tryFlush(ctx, nc, do)
		if err == nil || nc.IsClosed() || !isInterruption(err) {
			return err
		}
		if !said {
			log.Warn("the start waits for NATS, which does not answer", "connection", nc.Opts.Name, "error", err)
		}
		select {
		case <-time.After(flushPause):
		case <-ctx.Done():
			return fmt.Errorf("NATS does not answer: %w", errors.Join(context.Cause(ctx), err))
		}
	}
}

func tryFlush(ctx context.Context, nc *nats.Conn, do func() error) error {
	reconnects := nc.Stats().Reconnects
	if err := do(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	if err := nc.FlushWithContext(ctx); err != nil {
		return err
	}
	if nc.Stats().Reconnects != reconnects {
		return nats.ErrDisconnected
	}
	return nil
}

// isInterruption tells whether the error comes from a connection that is interrupted or stalls.
func isInterruption(err error) bool {
	return errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, nats.ErrDisconnected) ||
		errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, nats.ErrStaleConnection) || errors.Is(err, context.DeadlineExceeded)
}
