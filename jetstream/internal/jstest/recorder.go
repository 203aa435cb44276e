package jstest

import (
	"context"
	"log/slog"
	"strings"
	"sync"
)

// Recorder is a slog handler that keeps the lines.
type Recorder struct {
	slog.Handler
	mu    sync.Mutex
	lines []slog.Record
}

func NewRecorder() *Recorder {
	return &Recorder{Handler: slog.DiscardHandler}
}

func (r *Recorder) Enabled(context.Context, slog.Level) bool { return true }

func (r *Recorder) WithAttrs([]slog.Attr) slog.Handler { return r }

func (r *Recorder) Handle(_ context.Context, line slog.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line.Clone())
	return nil
}

// Find returns the level of the first line that holds the words.
func (r *Recorder) Find(words string) (slog.Level, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range r.lines {
		if strings.Contains(line.Message, words) {
			return line.Level, true
		}
	}
	return 0, false
}

// Count returns how many lines hold the words.
func (r *Recorder) Count(words string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range r.lines {
		if strings.Contains(line.Message, words) {
			n++
		}
	}
	return n
}
