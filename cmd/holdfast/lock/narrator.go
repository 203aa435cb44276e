//go:build unix

package lock

import (
	"fmt"
	"io"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
)

// narrator tells a person what happens to the locks, beside what the command writes. It holds nobody up:
// the command must be gone in time, also if nobody reads what is said of it.
type narrator struct {
	w       io.Writer
	verbose bool
	lines   chan string
	done    chan struct{}
}

// mostUnread bounds how much is kept for a reader that is late; what goes beyond is lost.
const mostUnread = 64

func newNarrator(w io.Writer, verbose bool) *narrator {
	n := &narrator{w: w, verbose: verbose, lines: make(chan string, mostUnread), done: make(chan struct{})}
	go n.write()
	return n
}

func (n *narrator) write() {
	defer close(n.done)
	for line := range n.lines {
		_, _ = fmt.Fprintln(n.w, line) // there is nobody else to tell
	}
}

// close returns when all has been written. Nobody may say anything after it.
func (n *narrator) close() {
	close(n.lines)
	<-n.done
}

// always is for what nobody may miss.
func (n *narrator) always(format string, args ...any) {
	select {
	case n.lines <- "holdfast: " + display.Lines(fmt.Sprintf(format, args...)):
	default:
	}
}

// detail is for those who want to know.
func (n *narrator) detail(format string, args ...any) {
	if n.verbose {
		n.always(format, args...)
	}
}

// waiting says behind whom, to a person in front of a terminal without being asked.
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

// jeopardy is what the client tells when renewals begin to fail, or work again.
func (n *narrator) jeopardy(l *holdfast.Lock, err error) {
	if err == nil {
		n.detail("%s is renewed again", display.Name(l.Resource()))
		return
	}
	n.detail("cannot renew %s: %s; %s left", display.Name(l.Resource()), plain(err), display.Duration(max(time.Until(l.Deadline()), 0)))
}
