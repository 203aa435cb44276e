//go:build unix

package lock

import (
	"fmt"
	"io"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
)

// narrator writes messages about the locks to standard error. Its methods never block: a full pipe must not
// delay the termination of the command. They are safe for concurrent use.
type narrator struct {
	w       io.Writer
	verbose bool
	lines   chan string
	done    chan struct{}
}

// mostUnread is the number of lines that are buffered for a slow reader. Further lines are discarded.
const mostUnread = 64

func newNarrator(w io.Writer, verbose bool) *narrator {
	n := &narrator{w: w, verbose: verbose, lines: make(chan string, mostUnread), done: make(chan struct{})}
	go n.write()
	return n
}

func (n *narrator) write() {
	defer close(n.done)
	for line := range n.lines {
		_, _ = fmt.Fprintln(n.w, line) // an error of standard error cannot be reported
	}
}

// close returns when all lines have been written. No other method may be called after close.
func (n *narrator) close() {
	close(n.lines)
	<-n.done
}

// always writes the message with and without --verbose.
func (n *narrator) always(format string, args ...any) {
	select {
	case n.lines <- "holdfast: " + display.Lines(fmt.Sprintf(format, args...)):
	default:
	}
}

// detail writes the message with --verbose only.
func (n *narrator) detail(format string, args ...any) {
	if n.verbose {
		n.always(format, args...)
	}
}

// waiting reports the holder that the lock command waits for. On a terminal it does so without --verbose.
func (n *narrator) waiting(resource string, holder *holdfast.Lease) {
	if !n.verbose && display.SizeOf(n.w) == (display.Size{}) {
		return
	}
	if holder == nil {
		n.always("waiting for %s", display.Name(resource))
		return
	}
	n.always("waiting for %s, held by %s, token %d", display.Name(resource), display.Quote(holder.Owner), holder.Token)
}

// jeopardy is the client's callback for renewals that begin to fail, or that succeed again (a nil err).
func (n *narrator) jeopardy(l *holdfast.Lock, err error) {
	if err == nil {
		n.detail("%s is renewed again", display.Name(l.Resource()))
		return
	}
	n.detail("cannot renew %s: %s; %s left", display.Name(l.Resource()), plain(err), display.Duration(max(time.Until(l.Deadline()), 0)))
}
