package operate

import (
	"context"
	"errors"
	"io"
	"time"
)

// errIdle ends a task that makes no progress.
var errIdle = errors.New("no answer")

// idle ends a task that makes no progress for a time.
type idle struct {
	timer   *time.Timer
	timeout time.Duration
}

// guard returns a context that ends with errIdle when no progress has been reported for the timeout.
func guard(ctx context.Context, timeout time.Duration) (context.Context, *idle, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	i := &idle{time.AfterFunc(timeout, func() { cancel(errIdle) }), timeout}
	return ctx, i, func() { i.timer.Stop(); cancel(nil) }
}

// progress reports progress.
func (i *idle) progress() { i.timer.Reset(i.timeout) }

// output returns w as an output of the task. The time in which a write blocks does not count.
func (i *idle) output(w io.Writer) io.Writer { return guardedOutput{w, i} }

type guardedOutput struct {
	io.Writer
	idle *idle
}

// Write implements io.Writer.
func (o guardedOutput) Write(p []byte) (int, error) {
	o.idle.timer.Stop()
	defer o.idle.progress()
	return o.Writer.Write(p)
}
