package jstest

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"
)

// Timeout of a test with something that must happen.
const Timeout = 20 * time.Second

// Context returns a context that ends with the test, or after [Timeout].
func Context(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), Timeout)
	tb.Cleanup(cancel)
	return ctx
}

// WantError checks the kind of an error, and that its text holds what a person needs.
func WantError(tb testing.TB, err, kind error, words ...string) {
	tb.Helper()
	if !errors.Is(err, kind) {
		tb.Fatalf("error %v, want %v", err, kind)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			tb.Errorf("error %q does not say %q", err, word)
		}
	}
}

// Quiet returns a logger that discards its lines.
func Quiet() *slog.Logger {
	return slog.New(slog.DiscardHandler)
}

// WaitFor waits until the condition holds.
func WaitFor(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(Timeout)
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline:
			tb.Fatalf("not within %v: %s", Timeout, what)
		}
	}
}

// WantAPIError checks the code of a refusal by JetStream.
func WantAPIError(tb testing.TB, err error, code natsjs.ErrorCode) {
	tb.Helper()
	var refusal *natsjs.APIError
	if !errors.As(err, &refusal) || refusal.ErrorCode != code {
		tb.Errorf("error %v, want code %d", err, code)
	}
}
