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
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// dialTimeout bounds one attempt to connect; a running NATS server answers at once.
	dialTimeout = 5 * time.Second
	// retryDial is the pause between two attempts.
	retryDial = 200 * time.Millisecond
	// NoticeAfter is the delay of a notice on a terminal.
	NoticeAfter = time.Second
)

// patience is for how long NATS is tried again: for --timeout if that was given, because a server may be restarting.
func (c *Flags) patience() time.Duration {
	if c.Patient {
		return c.Timeout.Duration
	}
	return min(c.Timeout.Duration, impatience)
}

// impatience is for how long NATS is tried again without --timeout.
const impatience = 800 * time.Millisecond

// Open connects to NATS. It tries until ctx ends, for as long as a command is patient. No request has been sent if it
// fails.
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
		if !isPassing(err) || time.Since(begun)+retryDial > c.patience() || !Pause(limit, retryDial) {
			return nil, c.unreachable(ctx, err)
		}
		if !noticed && time.Since(begun) >= NoticeAfter {
			noticed = true
			c.Notice("no NATS server answers at %s yet", c.Where())
		}
	}
}

// dial makes one attempt. nats.Connect takes no context, so at the end of ctx it is abandoned.
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

// isPassing reports whether the error may be temporary, as while a server restarts. Errors of credentials and
// certificates are not.
func isPassing(err error) bool {
	var network net.Error
	return errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, io.EOF) ||
		errors.As(err, &network) && !isTLS(err)
}

// isTLS reports whether the peer has refused the handshake, which is a network error.
func isTLS(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error")
}

// Pause waits for d. It returns false if ctx ends earlier.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// unreachable returns the reason for a missing connection, with its exit code.
func (c *Flags) unreachable(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return exit.Errorf(exit.Unavailable, "interrupted before NATS answered at %s: no request was sent", c.Where())
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout):
		return exit.Errorf(exit.Unavailable, "no NATS server answers at %s; start one with: holdfast serve, "+
			"or give its URL with --server%s (tried for %s)", c.Where(), c.orContext(), display.Duration(c.patience()))
	case errors.Is(err, nats.ErrAuthorization):
		return exit.Errorf(exit.Unavailable, "the NATS server at %s does not permit this user to log in: %w; "+
			"check --creds, --nkey, or --user and --password", c.Where(), err)
	case isPassing(err):
		return exit.Errorf(exit.Unavailable, "cannot connect to NATS at %s: %w (tried for %s)",
			c.Where(), err, display.Duration(c.patience()))
	}
	return exit.Errorf(exit.Unavailable, "cannot connect to NATS at %s: %w", c.Where(), err)
}

// NoNode returns the error of a request for whose subject NATS has no subscriber.
func (c *Flags) NoNode(subject string) error {
	prefix, with := messages.Prefix(c.Prefix), ""
	if prefix != messages.DefaultPrefix {
		with = fmt.Sprintf(" with the prefix %q", prefix)
	}
	if to, err := prefix.Parse(subject); err == nil && to.Tenant != "" {
		return exit.Errorf(exit.Unavailable,
			"no Holdfast node%s serves tenant %s at %s, though NATS does: %s has no subscriber; "+
				"add the account to the file of holdfast serve --tenants, or check --tenant and --prefix",
			with, display.Name(to.Tenant), c.Where(), subject)
	}
	return exit.Errorf(exit.Unavailable, "no Holdfast node%s answers at %s, though NATS does: %s has no subscriber; "+
		"start a node with: holdfast serve --server URL, or check --prefix and the account of this user",
		with, c.Where(), subject)
}

// orContext offers the selected context of the nats command line where neither a server nor a context is given.
func (c *Flags) orContext() string {
	if selected := selectedContext(); selected != "" && c.context == "" && c.server == nats.DefaultURL {
		return ", or use the selected context of nats with --context " + display.Name(selected)
	}
	return ""
}

// Notice writes to a terminal that the command still tries. Other outputs get no notice.
func (c *Flags) Notice(format string, args ...any) {
	if c.Notices != nil && display.Columns(c.Notices) > 0 {
		_, _ = fmt.Fprintf(c.Notices, "holdfast: %s; trying for %s\n",
			fmt.Sprintf(format, args...), display.Duration(c.Timeout.Duration))
	}
}
