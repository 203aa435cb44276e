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

// NewRecorder returns an empty recorder.
func NewRecorder() *Recorder {
	return &Recorder{Handler: slog.DiscardHandler}
}

// Enabled implements [slog.Handler].
func (r *Recorder) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements [slog.Handler].
func (r *Recorder) WithAttrs([]slog.Attr) slog.Handler { return r }

// Handle implements [slog.Handler].
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
