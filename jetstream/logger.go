package jetstream

import (
	"context"
	"fmt"
	"log/slog"
)

// LevelServerDebug is the level of the embedded server's debug lines: below Holdfast's own, because
// they tell of every client and every step.
const LevelServerDebug = slog.LevelDebug - 4

// serverLogger passes the lines of a NATS server on to slog, and keeps the first fatal one: the server
// does not return it, it expects the logger to end the process.
type serverLogger struct {
	log   *slog.Logger
	fatal chan string
}

func newServerLogger(log *slog.Logger) *serverLogger {
	if log == nil {
		log = slog.Default()
	}
	return &serverLogger{log: log.With("from", "nats-server"), fatal: make(chan string, 1)}
}

// debugs tells whether anybody wants debug lines; the server makes none otherwise.
func (l *serverLogger) debugs() bool {
	return l.log.Enabled(context.Background(), LevelServerDebug)
}

// Noticef logs what an operator may want to know.
func (l *serverLogger) Noticef(format string, v ...any) {
	l.line(slog.LevelInfo, format, v)
}

// Warnf logs what an operator should look into.
func (l *serverLogger) Warnf(format string, v ...any) {
	l.line(slog.LevelWarn, format, v)
}

// Errorf logs what has gone wrong.
func (l *serverLogger) Errorf(format string, v ...any) {
	l.line(slog.LevelError, format, v)
}

// Fatalf logs why the server cannot go on, and keeps the line for [StartServer].
func (l *serverLogger) Fatalf(format string, v ...any) {
	l.line(slog.LevelError, format, v)
	select {
	case l.fatal <- fmt.Sprintf(format, v...):
	default:
	}
}

// Debugf logs a step of the server's.
func (l *serverLogger) Debugf(format string, v ...any) {
	l.line(LevelServerDebug, format, v)
}

// Tracef logs a protocol line.
func (l *serverLogger) Tracef(format string, v ...any) {
	l.line(LevelServerDebug, format, v)
}

func (l *serverLogger) line(level slog.Level, format string, v []any) {
	if l.log.Enabled(context.Background(), level) {
		l.log.Log(context.Background(), level, fmt.Sprintf(format, v...))
	}
}
