//go:build unix

package systemd_test

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/systemd"
)

// listen returns the reports that come to a socket in place of systemd's.
func listen(t *testing.T) (next func() string) {
	t.Helper()
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"),
		Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	t.Setenv("NOTIFY_SOCKET", socket.LocalAddr().String())
	return func() string {
		t.Helper()
		report := make([]byte, 100)
		n, err := socket.Read(report)
		if err != nil {
			t.Fatal(err)
		}
		return string(report[:n])
	}
}

// The reports come in this order, and nothing else between the first and the last of them.
func TestServe(t *testing.T) {
	for name, c := range map[string]struct {
		watchdog string
		want     []string
	}{
		"Watchdog":   {"20000", []string{"READY=1", "WATCHDOG=1", "WATCHDOG=1"}},
		"NoWatchdog": {"", []string{"READY=1"}},
	} {
		t.Run(name, func(t *testing.T) {
			next := listen(t)
			t.Setenv("WATCHDOG_USEC", c.watchdog)
			ctx, cancel := context.WithCancel(t.Context())
			stop := systemd.Serve(ctx, slog.New(slog.DiscardHandler))
			for _, want := range c.want {
				if got := next(); got != want {
					t.Errorf("reported %q, want %q", got, want)
				}
			}
			cancel()
			stop()
			for {
				switch got := next(); {
				case got == "STOPPING=1":
					return
				case got != "WATCHDOG=1" || c.watchdog == "":
					t.Fatalf("reported %q, want STOPPING=1", got)
				}
			}
		})
	}
}

// The service stops by itself too: then stop reports it.
func TestStop(t *testing.T) {
	next := listen(t)
	systemd.Serve(t.Context(), slog.New(slog.DiscardHandler))()
	if got := next() + " " + next(); got != "READY=1 STOPPING=1" {
		t.Errorf("reported %q", got)
	}
}

// What cannot be reported is logged with its reason, and the service goes on.
func TestErrors(t *testing.T) {
	for name, c := range map[string]struct{ variable, value, want string }{
		"Socket":   {"NOTIFY_SOCKET", "/nonexistent/socket", "no such file"},
		"Watchdog": {"WATCHDOG_USEC", "soon", "number of microseconds"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("NOTIFY_SOCKET", "")
			t.Setenv("WATCHDOG_USEC", "")
			t.Setenv(c.variable, c.value)
			var log strings.Builder
			systemd.Serve(t.Context(), slog.New(slog.NewTextHandler(&log, nil)))()
			if !strings.Contains(log.String(), c.want) {
				t.Errorf("logged %q, want %q in it", log.String(), c.want)
			}
		})
	}
}
