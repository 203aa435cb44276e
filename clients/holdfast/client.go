package holdfast

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/internal/clock"
	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// Client asks a Holdfast deployment for locks, on a NATS connection that belongs to the application. It
// is safe for concurrent use; one for each process is enough.
type Client struct {
	core
	handles  handles
	sessions sessions
	cache    cache
	ends     *ends
	// singly is what watches have found out about the user: journals are read without consumers.
	singly atomic.Bool
	// itself logs once that a call waits for a lock of this client.
	itself sync.Once

	closed first
}

// New returns a client on the connection, which stays the caller's and may be shared with anything
// else. [Connect] makes one that suits: with several nodes it should know more than one of their addresses, and never
// give up. New logs a warning if it will.
//
// New does not wait for the deployment: the first call notices if there is none. [Client.Close] ends the
// client.
//
// It is [ErrInvalid] if an option breaks a rule, or the connection is nil. Any other error is the connection's.
func New(nc *nats.Conn, opts ...Option) (*Client, error) {
	cfg := config{owner: newOwner(), prefix: messages.DefaultPrefix, timeout: DefaultTimeout, secret: drawSecret()}
	if err := cfg.take(nc, opts); err != nil {
		return nil, fmt.Errorf("holdfast: %w", err)
	}
	c := &Client{core: core{nc: nc, cfg: cfg, begun: clock.Now(), deployment: newDeployment()}}
	warnOfEnd(nc)
	c.life, c.end = context.WithCancelCause(context.Background())
	c.duty, c.cease = context.WithCancelCause(context.Background())
	c.join()
	orphan := func(l *messages.Lease) { c.handles.giveBack(l, c.secret()) } // mutant: LateGrantKept
	var err error
	c.sender, err = request.NewSender(nc, request.Config{Prefix: cfg.prefix, Orphan: orphan, Notice: c.handles.noticed,
		Reconnected: c.reconnected, Outdated: c.deployment.doubt})
	if err != nil {
		return nil, fmt.Errorf("holdfast: %w", err)
	}
	c.begin()
	c.goroutines.Go(c.deployment.follow)
	return c, nil
}

// join gives the parts that hold leases what they use of the others.
func (c *Client) join() {
	c.ends = newEnds(&c.core)
	c.sessions.c, c.sessions.several = &c.core, c.handles.several
	c.handles.c, c.handles.sessions, c.handles.ends = &c.core, &c.sessions, c.ends
	c.cache.join(&c.core)
}

// begin gives the parts that ask the service what they use of the others.
func (c *Client) begin() {
	c.tracing = tracing{c.cfg.tracer, c.cfg.prefix}
	c.calls = asker{givesUp: true, sender: c.sender, timeout: c.cfg.timeout, stop: c.life.Done(), tracing: c.tracing}
	c.cleanup = asker{sender: c.sender, timeout: jobTurn, stop: c.duty.Done()}
	d := c.deployment
	d.calls, d.prefix, d.begun, d.life = c.calls, c.cfg.prefix, c.begun, c.life
	d.divided = c.sessions.divide
	b := &c.background
	b.duty, b.goroutines, b.off = c.duty, &c.goroutines, c.sender.IsOff
	j := &c.jeopardy
	j.hook, j.life, j.goroutines = c.cfg.jeopardy, c.life, &c.goroutines
}

// Info asks the deployment about itself; [ErrUnavailable] if there is no answer in time.
func (c *Client) Info(ctx context.Context) (*Info, error) {
	if err := checkContext(ctx, opInfo, ""); err != nil {
		return nil, err
	}
	return c.deployment.ask(ctx)
}

// Close ends all calls under way, with [ErrClosed], and releases all locks that are still held. It
// returns when nothing of the client runs any more, or with an error when the context ends earlier or
// answers do not come in the client's timeout, or before the leases have run out; then leases may be left to
// run out. The connection stays open. To call it again is safe.
//
// Call it before the connection is closed or drained. Afterwards nothing can be released: Close returns at
// once, with an error that is nats.ErrConnectionClosed if locks were held, and their leases run out.
//
// A context that has ended already does not count. A nil context is [ErrInvalid], and closes nothing.
func (c *Client) Close(ctx context.Context) error {
	if err := checkContext(ctx, opClose, ""); err != nil {
		return err
	}
	if ctx.Err() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	return c.closed.do(ctx, func() error { return c.close(ctx) }, func() error {
		return &Error{Op: string(opClose), Err: ErrUnknown, Cause: request.ContextError(ctx)}
	})
}

// opClose stands in errors.
const opClose messages.Operation = "close"

func (c *Client) close(ctx context.Context) error {
	c.handles.close()
	c.end(ErrClosed)
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.timeout, request.ErrNoAnswer)
	defer cancel()
	return errors.Join(c.releaseAll(ctx), c.finishWork(ctx))
}

// finishWork waits for what the client does without a caller, and stops it when ctx ends.
func (c *Client) finishWork(ctx context.Context) error {
	done := c.goroutines.Wait(ctx)
	c.goroutines.Close()
	c.alarms.Close()
	c.cease(ErrClosed)
	stopped := c.sender.Close(ctx)
	if !done || !stopped || !c.goroutines.Wait(ctx) { // again for what began in between
		return fmt.Errorf("holdfast: close: %w", request.ContextError(ctx))
	}
	return nil
}

// releaseAll releases all leases concurrently and waits for the answers.
func (c *Client) releaseAll(ctx context.Context) error {
	err := each(c.handles.all(), func(h *handle) error { return h.releaseAll(ctx) })
	for _, x := range c.sessions.all() {
		x.shut()
	}
	return err
}

// reconnected looks at what may have been lost with the last connection.
func (c *Client) reconnected() {
	for _, h := range c.handles.all() {
		h.reconnected()
	}
	for _, x := range c.sessions.all() {
		x.reconnected()
	}
	c.ends.reconnected()
}
