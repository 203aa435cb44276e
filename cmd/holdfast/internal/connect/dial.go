package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
)

const (
	// dialTimeout bounds one try to connect; a NATS server that is there answers at once.
	dialTimeout = 5 * time.Second
	// retryDial is the pause between two tries.
	retryDial = 200 * time.Millisecond
	// noticeAfter is how long a person in front of a terminal is left without a word.
	NoticeAfter = time.Second
)

// Open connects to NATS. A server that restarts is missing for a while, so it tries for --timeout, or until
// ctx ends. Nothing has been asked if it fails.
func (c *Flags) Open(ctx context.Context, name string, notices io.Writer) (*nats.Conn, error) {
	options, err := c.options(name)
	if err != nil {
		return nil, err
	}
	c.Notices = notices
	limit, cancel := context.WithTimeout(ctx, c.Timeout.Duration)
	defer cancel()
	for begun, noticed := time.Now(), false; ; {
		nc, err := c.dial(limit, options)
		if err == nil {
			return nc, nil
		}
		if !isPassing(err) || !pause(limit, retryDial) {
			return nil, c.unreachable(ctx, err)
		}
		if !noticed && time.Since(begun) >= NoticeAfter {
			noticed = true
			c.Notice("no NATS server answers at %s yet", c.Where())
		}
	}
}

// dial tries once. nats.Connect has no context, so the end of ctx leaves it behind.
func (c *Flags) dial(ctx context.Context, options []nats.Option) (*nats.Conn, error) {
	var nc *nats.Conn
	done := make(chan error, 1)
	go func() {
		var err error
		nc, err = nats.Connect(c.server, options...)
		done <- err
	}()
	select {
	case err := <-done:
		return nc, err
	case <-ctx.Done():
	}
	go func() {
		if <-done == nil {
			nc.Close()
		}
	}()
	return nil, nats.ErrTimeout
}

// isPassing reports whether the reason may pass while a server restarts. Wrong credentials and certificates
// do not.
func isPassing(err error) bool {
	var network net.Error
	return errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, io.EOF) ||
		errors.As(err, &network) && !isTLS(err)
}

// isTLS reports whether the other side has refused the handshake. It says so in an error of the network.
func isTLS(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error")
}

// pause reports whether ctx leaves so much time.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// unreachable says why there is no connection.
func (c *Flags) unreachable(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return exit.Errorf(exit.Unavailable, "interrupted before NATS answered at %s: nothing happened", c.Where())
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout):
		return exit.Errorf(exit.Unavailable, "no NATS server answers at %s; start one with: holdfast serve, "+
			"or say where it is with --server (tried for %s)", c.Where(), display.Duration(c.Timeout.Duration))
	case errors.Is(err, nats.ErrAuthorization):
		return exit.Errorf(exit.Unavailable, "the NATS server at %s does not let this user in; "+
			"give --creds, --nkey, or --user and --password", c.Where())
	case isPassing(err):
		return exit.Errorf(exit.Unavailable, "cannot connect to NATS at %s: %w (tried for %s)", c.Where(), err, display.Duration(c.Timeout.Duration))
	}
	return exit.Errorf(exit.Unavailable, "cannot connect to NATS at %s: %w", c.Where(), err)
}

// Notice tells a person in front of a terminal that the command still tries. A script finds nothing of it in
// what the command writes.
func (c *Flags) Notice(format string, args ...any) {
	if c.Notices != nil && display.SizeOf(c.Notices) != (display.Size{}) {
		_, _ = fmt.Fprintf(c.Notices, "holdfast: %s; trying for %s\n", fmt.Sprintf(format, args...), display.Duration(c.Timeout.Duration))
	}
}
