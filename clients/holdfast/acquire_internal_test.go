package holdfast

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/clients/internal/clock"
	"github.com/holdfast-io/holdfast/messages"
)

// The service may say that the wait is over a moment before the deadline for which it was asked.
func TestTimeoutJustBeforeTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Microsecond)
		defer cancel()
		a := &acquisition{c: bareClient(t), resource: "r", options: new(acquireOptions)}
		a.deadline, _ = ctx.Deadline()
		l, again, err := a.answered(ctx, &messages.Reply{Status: messages.Status_TIMEOUT}, clock.Now())
		if l != nil || again || !errors.Is(err, ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, %v, %v, want ErrTimeout and DeadlineExceeded", l, again, err)
		}
	})
}

// A TTL that is shorter than the round trip is an error before many tokens are used up.
func TestGrantsThatComeTooLate(t *testing.T) {
	const ttl, way = 100 * time.Millisecond, 130 * time.Millisecond
	duty, end := context.WithCancel(t.Context())
	end() // what is given back is not to be asked for here
	c := bareClient(t)
	c.background.duty, c.background.goroutines = duty, &c.goroutines
	a := &acquisition{c: c, resource: "r", options: &acquireOptions{owner: "me", ttl: ttl}}
	for token := uint64(1); ; token++ {
		lease := &messages.Lease{Resource: "r", Owner: "me", Token: token, TtlMs: 100, RemainingMs: 100}
		l, again, err := a.granted(t.Context(), clock.Now().Add(-way), &messages.Reply{Lease: lease})
		if l != nil || again != (err == nil) {
			t.Fatalf("got %v, %v, %v", l, again, err)
		}
		if !again {
			if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "TTL of 100ms is too short") ||
				token != maxLate {
				t.Errorf("got %v at token %d", err, token)
			}
			return
		}
		if token > maxLate {
			t.Fatal("it goes on to use tokens up")
		}
	}
}

// A wait for a lock that the client holds itself is logged once.
func TestWaitForOwnLockIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		defer slog.SetDefault(slog.Default())
		slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
		s := newScripted(t)
		c := s.client()
		mustLock(t, c, "a")
		for range 2 {
			if _, err := c.Acquire(t.Context(), "a", MaxWait(time.Second)); !errors.Is(err, ErrTimeout) {
				t.Errorf("got %v, want ErrTimeout", err)
			}
		}
		if n := strings.Count(log.String(), "this client holds itself"); n != 1 {
			t.Errorf("it is logged %d times:\n%s", n, log.String())
		}
	})
}
