package embedded

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// LevelDebug is the level of the embedded server's debug lines: below Holdfast's own, because
// they report every client and every step.
const LevelDebug = slog.LevelDebug - 4

// Lines to which the process reacts are matched from their beginning on: a line may have text that a client has sent,
// and that text may say anything.
var (
	// duplicateName matches the line about a member with the same name. There is no other sign.
	duplicateName = regexp.MustCompile(`^\S+ - [rg]id:\d.* - Remote server has a duplicate name: `)
	// storeFault matches the line about a store or a Raft group that the server ends because it could not write.
	storeFault = regexp.MustCompile(
		`^(?:Filestore \[[^\]]*\]|RAFT \[[^\]]*\]|JetStream cluster meta group|JetStream (?:stream|consumer) '[^']*') [Cc]ritical write error: `)
	// ofRoute matches the beginning of a line about a connection of a member.
	ofRoute = regexp.MustCompile(`^\S+ - rid:\d`)
	// ofClient matches the beginning of a line about what a client or a leaf node has sent: there may be any number of
	// them.
	ofClient = regexp.MustCompile(`^(?:\S+ - [cwml]id(?:_ws)?:\d|Malformed JetStream API Request)`)
)

// otherCluster is part of the line about a server of another cluster at the address of a member. The server
// repeats it ten times a second; otherClusterEvery is how often it is logged.
const (
	otherCluster      = "cluster name"
	otherClusterEvery = 30 * time.Second
)

// clientLines is how many lines about clients are logged in a second, after the first clientBurst.
const clientLines, clientBurst = 10, 100

// routeHandshake is part of the line about a route without the right certificate. Servers try again many times a
// second.
const routeHandshake = "TLS route handshake error"

// expected are parts of lines that are normal while members of a cluster start, stop or are killed. The server
// tries again, and [Server.AwaitQuorum] logs what is missing if it lasts.
var expected = []string{
	"Error trying to connect to route",
	"Waiting for routing to be established", // every two seconds
	"JetStream has not established contact with a meta leader",
	// The server checks itself as soon as it has read its store.
	"is not current: monitor goroutine not running",
	"is not current: group node unhealthy", // it has not caught up
	"Error flushing",                       // the peer has disconnected during a write
	// After a kill: the index of a store is older than its blocks, which are read instead.
	"Stream state outdated, last block has additional entries, will rebuild",
	"Stream state outdated, found extra blocks, will rebuild",
	"Recovering stream state from index errored: prior state file",
	"Metalayer blocking snapshot", // the first of every start
}

// serverLogger passes the lines of a NATS server on to slog, and keeps those that the process has to act on,
// because the server does not return them.
type serverLogger struct {
	log *slog.Logger
	// fatal has the first fatal line, after which the server expects the process to end.
	fatal chan string
	// duplicate has the first line about another member of the cluster with this one's name.
	duplicate chan string
	// writeErrors has the first line about a store that ended.
	writeErrors chan string
	// clients limits the lines about clients, and leftOut counts those that were not logged since the last one.
	clients *rate.Limiter
	leftOut atomic.Int64
	// otherCluster limits the lines about other clusters, handshakes those about routes without the right certificate.
	otherCluster, handshakes *rate.Sometimes
}

func newServerLogger(log *slog.Logger) *serverLogger {
	return &serverLogger{
		log: log.With("from", "nats-server"), fatal: make(chan string, 1), duplicate: make(chan string, 1),
		writeErrors:  make(chan string, 1),
		otherCluster: &rate.Sometimes{First: 1, Interval: otherClusterEvery},
		clients:      rate.NewLimiter(clientLines, clientBurst),
		handshakes:   &rate.Sometimes{First: 1, Interval: otherClusterEvery},
	}
}

// warnOfSlowStart logs a warning if the timer that it returns is not stopped: nats-server 2.15 counts for hours, and
// takes more and more memory, if a flipped bit in a message block has made a sequence number huge.
func (l *serverLogger) warnOfSlowStart(dir string) *time.Timer {
	return time.AfterFunc(slowStart, func() {
		l.log.Warn("the NATS server is still reading its store; if its memory grows meanwhile, a file there is damaged: "+
			"stop this node, and in a cluster move the directory away and start it again, so that the other nodes send "+
			"it all; a single node needs its backup", "dir", dir, "for", slowStart)
	})
}

// debugs reports whether debug lines are logged; the server formats none otherwise.
func (l *serverLogger) debugs() bool {
	return l.log.Enabled(context.Background(), LevelDebug)
}

// Noticef logs at debug, because few of the server's notices concern an operator of Holdfast.
func (l *serverLogger) Noticef(format string, v ...any) {
	l.line(slog.LevelDebug, format, v)
}

// Warnf logs what an operator should look into.
func (l *serverLogger) Warnf(format string, v ...any) {
	l.logProblem(slog.LevelWarn, fmt.Sprintf(format, v...))
}

// Errorf logs what has gone wrong.
func (l *serverLogger) Errorf(format string, v ...any) {
	l.logProblem(slog.LevelError, fmt.Sprintf(format, v...))
}

func (l *serverLogger) logProblem(level slog.Level, line string) {
	if ofClient.MatchString(line) { // mutant: TextOfAClientTakenForAFault
		l.logClient(level, line)
		return
	}
	if slices.ContainsFunc(expected, func(part string) bool { return strings.Contains(line, part) }) {
		level = slog.LevelDebug
	}
	if duplicateName.MatchString(line) {
		keepFirst(l.duplicate, line)
	}
	if storeFault.MatchString(line) { // mutant: TextOfAClientTakenForAFault
		keepFirst(l.writeErrors, line)
	}
	if ofRoute.MatchString(line) && strings.Contains(line, otherCluster) {
		level = LevelDebug
		l.otherCluster.Do(func() {
			l.log.Error(
				"a server of another cluster is at one of the --routes, or has this server among its own: all "+
					"members of a cluster have the same --prefix, and --routes must list no other servers", "said",
				line)
		})
	}
	if strings.Contains(line, routeHandshake) {
		shown := level
		level = LevelDebug
		l.handshakes.Do(func() { level = shown })
	}
	l.line(level, "%s", []any{line})
}

// logClient logs a line about a client, unless there are too many.
func (l *serverLogger) logClient(level slog.Level, line string) {
	if !l.clients.Allow() {
		l.leftOut.Add(1)
		return
	}
	if n := l.leftOut.Swap(0); n > 0 {
		l.log.Warn("lines about clients are left out: there are too many", "lines", n)
	}
	l.line(level, "%s", []any{line})
}

// keepFirst keeps the line unless there is one already.
func keepFirst(lines chan<- string, line string) {
	select {
	case lines <- line:
	default:
	}
}

// Fatalf logs why the server cannot go on, and keeps the line for [Start].
func (l *serverLogger) Fatalf(format string, v ...any) {
	l.line(slog.LevelError, format, v)
	keepFirst(l.fatal, fmt.Sprintf(format, v...))
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
