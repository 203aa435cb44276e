package main

import (
	"context"
	"io"
	"log/slog"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
)

func logLevelFlag() cli.Choice  { return cli.NewChoice("info", "debug", "info", "warn", "error") }
func logFormatFlag() cli.Choice { return cli.NewChoice("text", "text", "json") }

// newLogger returns the log of a node: one line per event, as text or as JSON.
func newLogger(w io.Writer, level, format string) (*slog.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, err
	}
	options := &slog.HandlerOptions{Level: least, ReplaceAttr: withUnits}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return slog.New(slog.NewTextHandler(w, options)), nil
}

// withUnits writes a duration as "1.5s" in every format; JSON would have nanoseconds without a unit.
func withUnits(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// subdued is the log of something that takes its news for more important than we do: what it says at
// info is shown at debug.
type subdued struct{ slog.Handler }

// Enabled implements [slog.Handler].
func (h subdued) Enabled(ctx context.Context, level slog.Level) bool {
	return h.Handler.Enabled(ctx, subdue(level))
}

// Handle implements [slog.Handler].
func (h subdued) Handle(ctx context.Context, r slog.Record) error {
	r.Level = subdue(r.Level)
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h subdued) WithAttrs(attrs []slog.Attr) slog.Handler {
	return subdued{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (h subdued) WithGroup(name string) slog.Handler { return subdued{h.Handler.WithGroup(name)} }

func subdue(level slog.Level) slog.Level {
	if level == slog.LevelInfo {
		return slog.LevelDebug
	}
	return level
}
