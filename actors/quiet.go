package actors

import (
	"context"
	"log/slog"
)

// quiet lowers what Proto.Actor says at Info (its own start, dead letters with their payload) to
// Debug: none of it tells an operator anything. Panics are logged here, with their stack.
type quiet struct{ slog.Handler }

func (q quiet) lower(l slog.Level) slog.Level {
	if l == slog.LevelInfo {
		return slog.LevelDebug
	}
	return l
}

func (q quiet) Enabled(ctx context.Context, l slog.Level) bool {
	return q.Handler.Enabled(ctx, q.lower(l))
}

func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	r.Level = q.lower(r.Level)
	return q.Handler.Handle(ctx, r)
}

func (q quiet) WithAttrs(a []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(a)} }
func (q quiet) WithGroup(n string) slog.Handler      { return quiet{q.Handler.WithGroup(n)} }
