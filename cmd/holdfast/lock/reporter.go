//go:build unix

package lock

import (
	"fmt"
	"io"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
)

// reporter writes messages about the locks to standard error. Its methods never block: a full pipe must not
// delay the termination of the command. They are safe for concurrent use.
type reporter struct {
	w       io.Writer
	verbose bool
	lines   chan string
	done    chan struct{}
}

// maxBuffered is the number of lines that are buffered for a slow reader. Further lines are discarded.
const maxBuffered = 64

func newReporter(w io.Writer, verbose bool) *reporter {
	r := &reporter{w: w, verbose: verbose, lines: make(chan string, maxBuffered), done: make(chan struct{})}
	go r.write()
	return r
}

func (r *reporter) write() {
	defer close(r.done)
	for line := range r.lines {
		_, _ = fmt.Fprintln(r.w, line) // an error of standard error cannot be reported
	}
}

// close returns when all lines have been written. No other method may be called after close.
func (r *reporter) close() {
	close(r.lines)
	<-r.done
}

// print writes the message with and without --verbose.
func (r *reporter) print(format string, args ...any) {
	select {
	case r.lines <- "holdfast: " + display.Lines(fmt.Sprintf(format, args...)):
	default:
	}
}

// detail writes the message with --verbose only.
func (r *reporter) detail(format string, args ...any) {
	if r.verbose {
		r.print(format, args...)
	}
}

// waiting reports what the lock command waits for: the holder, or the end of the hold after a loss. On a terminal it does
// so without --verbose.
func (r *reporter) waiting(resource string, refusal *holdfast.Error) {
	if !r.verbose && display.SizeOf(r.w) == (display.Size{}) {
		return
	}
	switch {
	case refusal.Lost != nil:
		r.print("waiting for %s, %s", display.Name(resource), heldBack(refusal.Lost))
	case refusal.Holder != nil:
		r.print("waiting for %s, held by %s, token %d", display.Name(resource), display.Quote(refusal.Holder.Owner), refusal.Holder.Token)
	default:
		r.print("waiting for %s", display.Name(resource))
	}
}

// heldBack says for how long a resource is held back, and why.
func heldBack(l *holdfast.Loss) string {
	lost := fmt.Sprintf("%s, token %d", display.Quote(l.Owner), l.Token)
	if l.Left == 0 {
		return fmt.Sprintf("held back until the loss of %s, is confirmed", lost)
	}
	return fmt.Sprintf("held back for %s after the loss of %s", display.Duration(l.Left), lost)
}

// jeopardy is the client's callback for renewals that begin to fail, or that succeed again (a nil err).
func (r *reporter) jeopardy(l *holdfast.Lock, err error) {
	if err == nil {
		r.detail("%s is renewed again", display.Name(l.Resource()))
		return
	}
	r.detail("cannot renew %s: %s; %s left", display.Name(l.Resource()), display.Plain(err), display.Duration(max(time.Until(l.Deadline()), 0)))
}
