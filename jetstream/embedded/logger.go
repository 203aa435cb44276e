package embedded

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// LevelDebug is the level of the embedded server's debug lines: below Holdfast's own, because
// they tell of every client and every step.
const LevelDebug = slog.LevelDebug - 4

// duplicateName is in what the server says of a member with its own name. There is no other sign.
const duplicateName = "duplicate name"

// writeError is in what the server says of a store or a Raft group that it ends for good, because it could
// not write.
const writeError = "ritical write error"

// otherCluster is in what the server says, ten times a second, of a server that belongs to another cluster
// and is at the address of a member; foreignEvery is how often somebody has to know.
const (
	otherCluster = "cluster name"
	foreignEvery = 30 * time.Second
)

// expected is in what is no mistake while members of a cluster come and go, by a kill as well: it is tried
// again, and [Server.AwaitQuorum] says what is missing if it lasts.
var expected = []string{
	"Error trying to connect to route",
	"Waiting for routing to be established", // every two seconds
	"JetStream has not established contact with a meta leader",
	"Error flushing", // somebody has left while something was being sent to him
	// After a kill: the index of a store is older than its blocks, which are read instead.
	"Stream state outdated, last block has additional entries, will rebuild",
	"Stream state outdated, found extra blocks, will rebuild",
	"Recovering stream state from index errored: prior state file",
	"Metalayer blocking snapshot", // the first of every start
}

// serverLogger passes the lines of a NATS server on to slog, and keeps those that matter to the
// process: the server does not return them.
type serverLogger struct {
	log *slog.Logger
	// fatal has the first line of the kind behind which the server expects the process to end.
	fatal chan string
	// rival has the first line that says that another member of the cluster has this one's name.
	rival chan string
	// failed has the first line that says that something is no longer stored.
	failed chan string
	// foreign limits what is said of other clusters.
	foreign *rate.Sometimes
}

func newServerLogger(log *slog.Logger) *serverLogger {
	return &serverLogger{
		log: log.With("from", "nats-server"), fatal: make(chan string, 1), rival: make(chan string, 1),
		failed:  make(chan string, 1),
		foreign: &rate.Sometimes{First: 1, Interval: foreignEvery},
	}
}

// debugs tells whether anybody wants debug lines; the server makes none otherwise.
func (l *serverLogger) debugs() bool {
	return l.log.Enabled(context.Background(), LevelDebug)
}

// Noticef logs what an operator may want to know.
func (l *serverLogger) Noticef(format string, v ...any) {
	l.line(slog.LevelInfo, format, v)
}

// Warnf logs what an operator should look into.
func (l *serverLogger) Warnf(format string, v ...any) {
	l.complain(slog.LevelWarn, fmt.Sprintf(format, v...))
}

// Errorf logs what has gone wrong.
func (l *serverLogger) Errorf(format string, v ...any) {
	l.complain(slog.LevelError, fmt.Sprintf(format, v...))
}

func (l *serverLogger) complain(level slog.Level, line string) {
	if slices.ContainsFunc(expected, func(part string) bool { return strings.Contains(line, part) }) {
		level = slog.LevelInfo
	}
	if strings.Contains(line, duplicateName) {
		keep(l.rival, line)
	}
	if strings.Contains(line, writeError) {
		keep(l.failed, line)
	}
	if strings.Contains(line, otherCluster) {
		level = LevelDebug
		l.foreign.Do(func() {
			l.log.Error("a server of another cluster is at one of the --routes, or has this one among its own: members of one cluster have the same --prefix, and no others stand in the list", "said", line)
		})
	}
	l.line(level, "%s", []any{line})
}

// keep puts the line where it is looked for, unless there is one already.
func keep(lines chan<- string, line string) {
	select {
	case lines <- line:
	default:
	}
}

// Fatalf logs why the server cannot go on, and keeps the line for [Start].
func (l *serverLogger) Fatalf(format string, v ...any) {
	l.line(slog.LevelError, format, v)
	keep(l.fatal, fmt.Sprintf(format, v...))
}

// Debugf logs a step of the server's.
func (l *serverLogger) Debugf(format string, v ...any) {
	l.line(LevelDebug, format, v)
}

// Tracef logs a protocol line.
func (l *serverLogger) Tracef(format string, v ...any) {
	l.line(LevelDebug, format, v)
}

func (l *serverLogger) line(level slog.Level, format string, v []any) {
	if l.log.Enabled(context.Background(), level) {
		l.log.Log(context.Background(), level, fmt.Sprintf(format, v...))
	}
}
