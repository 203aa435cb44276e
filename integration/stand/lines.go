package stand

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// Lines is what a process writes, to be waited for. The zero value is empty.
type Lines struct {
	mu      sync.Mutex
	text    strings.Builder
	changed chan struct{} // closed by the next write; nil: no call waits for it
}

// Write implements [io.Writer].
func (l *Lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
	return l.text.Write(p)
}

// String returns all that has been written.
func (l *Lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// find returns the first whole line with the text, or what the next write closes.
func (l *Lines) find(text string) (line string, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, text) && strings.HasSuffix(line, "\n") {
			return strings.TrimSuffix(line, "\n"), nil
		}
	}
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return "", l.changed
}

// WaitFor returns the first whole line with this text. It fails the test if the process ends before, or writes
// no such line for a minute.
func (l *Lines) WaitFor(tb testing.TB, ended <-chan struct{}, text string) string {
	tb.Helper()
	for deadline := time.After(patience); ; {
		line, changed := l.find(text)
		if changed == nil {
			return line
		}
		select {
		case <-changed:
		case <-ended:
			if line, changed = l.find(text); changed != nil {
				tb.Fatalf("the process ended before it wrote %q; it wrote:\n%s", text, l)
			}
			return line
		case <-deadline:
			tb.Fatalf("the process did not write %q within %v; it wrote:\n%s", text, patience, l)
		}
	}
}
