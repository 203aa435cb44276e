package embedded

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// A line that the server repeats with every attempt is logged once, and says what to do.
func TestOtherClusterIsToldOnce(t *testing.T) {
	var said bytes.Buffer
	l := newServerLogger(slog.New(slog.NewTextHandler(&said, nil)))
	for range 10 {
		l.Errorf("%s - rid:%d - Rejecting connection, cluster name %q does not match %q", "127.0.0.1:5", 7, "other", "holdfast")
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

// What every restart after a kill brings is no warning; what a damaged store brings is one.
func TestRestartAfterAKillIsQuiet(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	l := newServerLogger(slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelWarn})))
	l.Warnf("Filestore [_meta_] Stream state outdated, last block has additional entries, will rebuild")
	l.Warnf("Filestore [_meta_] Recovering stream state from index errored: prior state file")
	l.Warnf("Metalayer blocking snapshot took 0.004s (streams: 5, consumers: 0, compacted: 40.42 KB)")
	l.Warnf("%v", "JetStream stream '$G > KV_HOLDFAST_1' is not current: monitor goroutine not running")
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
