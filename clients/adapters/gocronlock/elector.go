package gocronlock

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// ErrNotLeader is returned while another process leads, or none yet.
var ErrNotLeader = errors.New("gocronlock: not the leader")

// pause is between two campaigns, of which the first failed: what refused it may last.
const pause = time.Second

// Elector is a [gocron.Elector]: all jobs run in the process that leads. It is safe for concurrent use.
type Elector struct {
	client *holdfast.Client
	name   string
	opts   []holdfast.AcquireOption
	cancel context.CancelFunc
	ended  chan struct{}
	leader atomic.Pointer[holdfast.Leadership] // nil while another leads
}

// NewElector returns an elector of the resource of this name, which is a candidate until [Elector.Close].
func NewElector(c *holdfast.Client, name string, opts ...holdfast.AcquireOption) *Elector {
	ctx, cancel := context.WithCancel(context.Background())
	e := &Elector{client: c, name: name, opts: opts, cancel: cancel, ended: make(chan struct{})}
	go e.run(ctx)
	return e
}

// run leads whenever it is its turn, until the context or the client ends. An error is logged.
func (e *Elector) run(ctx context.Context) {
	defer close(e.ended)
	for ctx.Err() == nil {
		l, err := e.client.Campaign(ctx, e.name, "", e.opts...)
		switch {
		case err == nil:
			e.lead(ctx, l)
		case errors.Is(err, holdfast.ErrClosed):
			return
		case ctx.Err() == nil:
			slog.Warn("gocronlock: campaign", "election", e.name, "error", err)
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		}
	}
}

// lead returns when the leadership is lost, or the context ends; then [Elector.Close] resigns.
func (e *Elector) lead(ctx context.Context, l *holdfast.Leadership) {
	e.leader.Store(l)
	select {
	case <-l.Context().Done():
		e.leader.Store(nil)
	case <-ctx.Done():
	}
}

// IsLeader implements [gocron.Elector]: nil if this process leads at this moment, else [ErrNotLeader].
func (e *Elector) IsLeader(context.Context) error {
	if l := e.leader.Load(); l == nil || !l.Valid() {
		return ErrNotLeader
	}
	return nil
}

// Context returns a context that ends with ctx, by cancel, and when the leadership is lost: then its cause is
// [holdfast.ErrLost]. It carries the token for guards. If this process does not lead, it has ended, with
// [ErrNotLeader].
func (e *Elector) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	if l := e.leader.Load(); l != nil {
		return join(ctx, l.Context())
	}
	over, cancel := context.WithCancelCause(ctx)
	cancel(ErrNotLeader)
	return over, func() {}
}

// Close ends the candidacy, and resigns. Call it when the jobs are over, behind the scheduler's Shutdown. The errors
// are those of [holdfast.Leadership.Resign], or the context's.
func (e *Elector) Close(ctx context.Context) error {
	e.cancel()
	select {
	case <-e.ended:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if l := e.leader.Load(); l != nil {
		return l.Resign(ctx)
	}
	return nil
}
