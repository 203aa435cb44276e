package embedded

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
)

// A line that the server repeats with every attempt is logged once, and says what to do.
func TestOtherClusterIsToldOnce(t *testing.T) {
	var said bytes.Buffer
	l := newServerLogger(slog.New(slog.NewTextHandler(&said, nil)))
	for range 10 {
		l.Errorf("%s - rid:%d - Rejecting connection, cluster name %q does not match %q", "127.0.0.1:5", 7, "other",
			"holdfast")
		l.Errorf("%s - rid:%d - cluster name from remote server conflicts", "127.0.0.1:5", 7)
	}
	if n := strings.Count(said.String(), "\n"); n != 1 || !strings.Contains(said.String(), "same --prefix") {
		t.Errorf("%d lines:\n%s", n, &said)
	}
	l.Errorf("something else")
	if !strings.Contains(said.String(), "something else") {
		t.Errorf("got:\n%s", &said)
	}
}

// A start that hangs on a damaged store is reported, one that has ended is not.
func TestSlowStartIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		l := newServerLogger(slog.New(slog.NewTextHandler(&logged, nil)))
		l.warnOfSlowStart("quick").Stop()
		l.warnOfSlowStart("damaged")
		<-time.After(slowStart)
		synctest.Wait()
		if got := logged.String(); !strings.Contains(got, "dir=damaged") || strings.Contains(got, "dir=quick") {
			t.Errorf("got:\n%s", got)
		}
	})
}

// What every restart after a kill brings is no warning; what a damaged store brings is one.
func TestRestartAfterAKillIsQuiet(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	l := newServerLogger(slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelWarn})))
	l.Warnf("Filestore [_meta_] Stream state outdated, last block has additional entries, will rebuild")
	l.Warnf("Filestore [_meta_] Recovering stream state from index errored: prior state file")
	l.Warnf("Metalayer blocking snapshot took 0.004s (streams: 5, consumers: 0, compacted: 40.42 KB)")
	l.Warnf("%v", "JetStream stream '$G > KV_HOLDFAST_1' is not current: monitor goroutine not running")
	l.Warnf("%v", "JetStream stream '$G > KV_HOLDFAST_1' is not current: group node unhealthy")
	if said.Len() > 0 {
		t.Errorf("warned:\n%s", &said)
	}
	l.Warnf("Filestore [_meta_] Recovering stream state from index errored: corrupt state file")
	l.Warnf("%v", "JetStream stream '$G > KV_HOLDFAST_1' is not current: stream catching up")
	if !strings.Contains(said.String(), "catching up") {
		t.Error("a stream that stays behind is no warning")
	}
	if !strings.Contains(said.String(), "corrupt state file") {
		t.Error("a damaged store is no warning")
	}
}

// A line with text that a client has sent is one about that client, whatever the text is.
func TestLinesOfClientsMeanNothing(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	l := newServerLogger(slog.New(slog.NewTextHandler(&said, nil)))
	texts := []string{"critical write error", "Remote server has a duplicate name", "cluster name"}
	for _, text := range texts {
		for _, connection := range []string{"127.0.0.1:5 - cid:7", "[::1]:5 - cid:7", "pipe - cid:7",
			"127.0.0.1:5 - wid:7", "127.0.0.1:5 - mid_ws:7", "127.0.0.1:5 - lid:7", "127.0.0.1:5 - lid_ws:7"} {
			l.Errorf("%s - %q - Client parser ERROR, state=10, i=1: proto='%q'", connection, "v1:go:"+text, text)
			l.Warnf("%s - authentication error - User %q", connection, text)
		}
		l.Warnf("Malformed JetStream API Request: %q", text+": x")
		l.Warnf("Malformed JetStream API Request: [%s] %q", "$JS.API.CONSUMER.CREATE.KV_HOLDFAST_0",
			"Filestore [a] "+text+": x")
		l.Warnf("Internal subscription on %q took too long: %v", text, "3s")
	}
	if len(l.writeErrors)+len(l.duplicate) > 0 || strings.Contains(said.String(), "same --prefix") {
		t.Errorf("the text of a client is taken for the server's: %s", &said)
	}
	for _, line := range []string{
		"JetStream stream '$G > KV_HOLDFAST_0' critical write error: no space left on device",
		"JetStream consumer '$G > a > b' critical write error: x",
		"JetStream cluster meta group critical write error: x", "RAFT [cnrtt3eg - S-R3F-x] Critical write error: x",
		"Filestore [KV_HOLDFAST_0] Critical write error: x",
	} {
		if l.Errorf("%s", line); len(l.writeErrors) != 1 || <-l.writeErrors != line {
			t.Errorf("the server's own line is not kept: %s", line)
		}
	}
	for _, line := range []string{`127.0.0.1:5 - rid:7 - Remote server has a duplicate name: "n1"`,
		`127.0.0.1:5 - rid:7 - "v2.15" - Remote server has a duplicate name: "n1"`} {
		if l.Errorf("%s", line); len(l.duplicate) != 1 || <-l.duplicate != line {
			t.Errorf("the server's own line is not kept: %s", line)
		}
	}
}

// Clients cannot fill the log: what they cause beyond a bound is counted.
func TestLinesOfClientsAreBounded(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	l := newServerLogger(slog.New(slog.NewTextHandler(&said, nil)))
	l.clients.SetLimit(0)
	for range 10 * clientBurst {
		l.Errorf("127.0.0.1:5 - cid:7 - Publish Violation")
	}
	if n := strings.Count(said.String(), "\n"); n != clientBurst {
		t.Errorf("%d lines, want %d", n, clientBurst)
	}
	l.clients.SetLimit(rate.Inf)
	l.Errorf("127.0.0.1:5 - cid:7 - Publish Violation")
	if !strings.Contains(said.String(), "lines=900") {
		t.Errorf("it is not said how many lines are left out:\n%s", said.String()[max(0, said.Len()-500):])
	}
}
