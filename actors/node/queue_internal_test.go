package node

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/peer"
)

// A queue keeps the order, takes what fits while its handler is blocked, and refuses the rest.
func TestQueueDoesNotBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked := make(chan struct{})
		var done []int
		q := newQueue(3, func(all []int) {
			<-blocked
			done = append(done, all...)
		})
		q.put(0)
		synctest.Wait() // the handler has it
		if n := q.put(1); n != 1 {
			t.Error("there was no room for one")
		}
		if n := q.put(2, 3, 4, 5); n != 2 {
			t.Errorf("of four %d were taken, want 2", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := q.close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a blocked queue was closed: %v", err)
		}
		close(blocked)
		<-q.done
		if !slices.Equal(done, []int{0, 1, 2, 3}) {
			t.Errorf("handled are %v", done)
		}
	})
}

// While NATS is away the log says once that the node is not announced.
func TestCannotAnnounceIsSaidOnce(t *testing.T) {
	nc, err := nats.Connect("nats://127.0.0.1:1", nats.RetryOnFailedConnect(true), nats.ReconnectBufSize(-1))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	log := new(strings.Builder)
	p := newPeers(nc, messages.DefaultPrefix, actors.SystemClock(), slog.New(slog.NewTextHandler(io.Writer(log), nil)), nil, nil)
	p.sometimes.Interval = 0 // the rate limit must not keep the log quiet
	for range 3 {
		p.announce(&peer.Announcement{Node: "n"})
	}
	if n := strings.Count(log.String(), "cannot announce"); n != 1 {
		t.Errorf("it is said %d times: %s", n, log)
	}
	if err := p.forwarding.close(t.Context()); err != nil {
		t.Error(err)
	}
}
