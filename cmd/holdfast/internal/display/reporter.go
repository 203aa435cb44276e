package display

import (
	"fmt"
	"io"
)

// Reporter writes the messages of a command that runs for long to standard error. Its methods never block: a full pipe
// must not delay the command. They are safe for concurrent use.
type Reporter struct {
	w       io.Writer
	verbose bool
	lines   chan string
	done    chan struct{}
}

// maxBuffered is the number of lines that are buffered for a slow reader. Further lines are discarded.
const maxBuffered = 64

// NewReporter returns a reporter, which the caller closes.
func NewReporter(w io.Writer, verbose bool) *Reporter {
	r := &Reporter{w: w, verbose: verbose, lines: make(chan string, maxBuffered), done: make(chan struct{})}
	go r.write()
	return r
}

func (r *Reporter) write() {
	defer close(r.done)
	for line := range r.lines {
		_, _ = fmt.Fprintln(r.w, line) // an error of standard error cannot be reported
	}
}

// Close returns when all lines have been written. No other method may be called after it.
func (r *Reporter) Close() {
	close(r.lines)
	<-r.done
}

// Print writes the message with and without --verbose.
func (r *Reporter) Print(format string, args ...any) {
	select {
	case r.lines <- "holdfast: " + Lines(fmt.Sprintf(format, args...)):
	default:
	}
}

// Detail writes the message with --verbose only.
func (r *Reporter) Detail(format string, args ...any) {
	if r.verbose {
		r.Print(format, args...)
	}
}
