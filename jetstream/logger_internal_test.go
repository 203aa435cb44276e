package jetstream

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// What the server repeats with every try is said once, in words that tell what to do.
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
