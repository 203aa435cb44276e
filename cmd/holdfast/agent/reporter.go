//go:build unix

package agent

import (
	"fmt"
	"io"
	"sync"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
)

// reporter writes messages to standard error. It is safe for concurrent use.
type reporter struct {
	mu      sync.Mutex
	w       io.Writer
	verbose bool
}

// print writes the message with and without --verbose.
func (r *reporter) print(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = fmt.Fprintln(r.w, "holdfast: "+display.Lines(fmt.Sprintf(format, args...))) // an error of stderr cannot be reported
}

// detail writes the message with --verbose only.
func (r *reporter) detail(format string, args ...any) {
	if r.verbose {
		r.print(format, args...)
	}
}
