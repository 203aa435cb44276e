package commands

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
)

// gauge shows on a terminal how far a task is, and ends a task that makes no progress. Other outputs get nothing.
type gauge struct {
	out     io.Writer
	columns int
	text    string
	percent int
	// idle ends the task when it fires; nil: nothing does.
	idle    *time.Timer
	timeout time.Duration
}

// newGauge returns a gauge on the command's standard error.
func newGauge(cmd *cobra.Command, text string) *gauge {
	out := cmd.ErrOrStderr()
	return &gauge{out: out, columns: display.SizeOf(out).Columns, text: text, percent: -1}
}

// guard returns a context that ends with the cause when nothing has been reported for the timeout.
func (g *gauge) guard(ctx context.Context, timeout time.Duration, cause error) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	g.timeout = timeout
	g.idle = time.AfterFunc(timeout, func() { cancel(cause) })
	return ctx, func() { g.idle.Stop(); cancel(nil) }
}

// output returns w as an output of the guarded task. The time in which a write blocks does not count: the task is then not
// without an answer.
func (g *gauge) output(w io.Writer) io.Writer { return guardedOutput{w, g} }

type guardedOutput struct {
	io.Writer
	gauge *gauge
}

// Write implements io.Writer.
func (o guardedOutput) Write(p []byte) (int, error) {
	o.gauge.idle.Stop()
	defer o.gauge.idle.Reset(o.gauge.timeout)
	return o.Writer.Write(p)
}

// show reports which part is done, from 0 to 1.
func (g *gauge) show(done float64) {
	if g.idle != nil {
		g.idle.Reset(g.timeout)
	}
	if percent := int(100 * done); g.columns > 0 && percent != g.percent {
		g.percent = percent
		_, _ = fmt.Fprint(g.out, "\r"+display.Bar(done, g.text, g.columns)+display.ClearLine)
	}
}

// clear removes the bar.
func (g *gauge) clear() {
	if g.columns > 0 {
		_, _ = fmt.Fprint(g.out, "\r"+display.ClearLine)
	}
}
