package fencenats_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencefile"
	"github.com/holdfast-io/holdfast/clients/fence/fencenats"
)

func TestAnswers(t *testing.T) {
	for kind, e := range endpoints(t, nil) {
		t.Run(kind, func(t *testing.T) {
			e.expect(t, header(token34, "orders.42"), "")
			e.expect(t, header(token33, "orders.43"), "")
			e.expect(t, header(token33, "orders.42"), "409")
			e.expect(t, nil, "428")
			e.expect(t, header("34", "orders.42"), "400")
			e.expect(t, header(token34, ""), "400")
			e.expect(t, header("", "orders.42"), "400")
			e.expect(t, nats.Header{"Fencing-Token": {token34, token34}}, "400")
			e.expect(t, header("000000000000035", "orders.42"), "")
			e.expect(t, header(token34, "orders.42"), "409")
		})
	}
}

func TestOptionalClaims(t *testing.T) {
	for kind, e := range endpoints(t, nil, fencenats.WithOptionalClaims()) {
		t.Run(kind, func(t *testing.T) {
			e.expect(t, nil, "")
			e.expect(t, header(token33, "orders.42"), "409")
			e.expect(t, header("34", "orders.42"), "400")
			e.expect(t, nats.Header{"fencing-token": {token33}, "fencing-resource": {"orders.42"}}, "409")
			e.expect(t, nats.Header{"FENCING-TOKEN": {"34"}, "FENCING-RESOURCE": {"orders.42"}}, "400")
			e.expect(t, nats.Header{"Fencing-Token": {token34}, "fencing-token": {token34},
				"Fencing-Resource": {"orders.42"}}, "400")
		})
	}
}

func TestResourceOfTheSubject(t *testing.T) {
	bySubject := func(subject string) (string, error) { return strings.TrimPrefix(subject, "put."), nil }
	for kind, e := range endpoints(t, nil, fencenats.WithResource(bySubject)) {
		t.Run(kind, func(t *testing.T) {
			e.expect(t, header(token34, ""), "")
			e.expect(t, header(token34, "orders.42"), "")
			e.expect(t, header(token33, ""), "409")
			e.expect(t, header(token34, "orders.43"), "400")
			e.expect(t, nil, "428")
		})
	}
	for kind, e := range endpoints(t, nil, fencenats.WithResource(
		func(string) (string, error) { return "", errors.New("no such order") })) {
		t.Run(kind, func(t *testing.T) {
			e.expect(t, header(token34, "orders.42"), "400")
		})
	}
}

func TestClaimInContext(t *testing.T) {
	for kind, e := range endpoints(t, nil) {
		t.Run(kind, func(t *testing.T) {
			e.ask(t, header(token34, "orders.42"))
			if got := <-e.claims; got != claim(34) {
				t.Errorf("the handler found %v", got)
			}
		})
	}
}

// TestMarksFail has marks that cannot be raised in time, because their directory is locked: the handler
// is not called, and only the hook learns why.
func TestMarksFail(t *testing.T) {
	marks, err := fencefile.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer marks.Close()
	wantError(t, marks.Do(t.Context(), claim(33), func(*os.Root) error {
		for kind, e := range endpoints(t, marks, fencenats.WithTimeout(10*time.Millisecond)) {
			t.Run(kind, func(t *testing.T) { wantUnavailable(t, e) })
		}
		return nil
	}), nil)
}

func wantUnavailable(t *testing.T, e *endpoint) {
	t.Helper()
	answer := e.ask(t, header(token34, "orders.42"))
	if code := answer.Header.Get("Nats-Service-Error-Code"); code != "503" {
		t.Errorf("code %q", code)
	}
	if text := string(answer.Data) + answer.Header.Get("Nats-Service-Error"); strings.Contains(text, "lock") {
		t.Errorf("the client is shown %s", text)
	}
	passed, refused := e.outcome(t)
	if passed {
		t.Error("the handler was called")
	}
	wantError(t, refused, context.DeadlineExceeded)
}

// TestStatistics of the service count what was refused.
func TestStatistics(t *testing.T) {
	nc := mustConnect(t, mustStart(t))
	g := fencenats.New(mustOpen(t, nc))
	s := mustServe(t, nc, subject, g.Handler(t.Context(), func(_ context.Context, r micro.Request) {
		wantError(t, r.Respond(nil), nil)
	}))
	c := client{Conn: nc, subject: subject}
	wantError(t, c.Write(t.Context(), claim(34), ""), nil)
	wantError(t, c.Write(t.Context(), claim(33), ""), fence.ErrStale)
	// A handler answers before it is counted, so the second may not be yet; the third waits for it.
	wantError(t, c.Write(t.Context(), claim(33), ""), fence.ErrStale)
	if got := s.Stats().Endpoints; len(got) != 1 || got[0].NumErrors < 1 {
		t.Errorf("%+v", got)
	}
}

// TestPausedHandler shows what this guard cannot do and that of the store does: the handler of 33 has
// been let through and is paused, then that of 34 writes.
func TestPausedHandler(t *testing.T) {
	nc := mustConnect(t, mustStart(t))
	store := mustOpen(t, nc)
	inside, goOn := make(chan struct{}), make(chan struct{})
	h := fencenats.New(store).MsgHandler(t.Context(), func(ctx context.Context, m *nats.Msg) {
		c, _ := fence.FromContext(ctx)
		if c.Token == 33 {
			close(inside)
			<-goOn
		}
		if _, err := store.Put(ctx, c, m.Data); err != nil {
			wantError(t, fencenats.MsgError(m, err), nil)
			return
		}
		wantError(t, m.Respond(nil), nil)
	})
	for _, subject := range []string{"first", "second"} { // each has a goroutine of its own
		_, err := nc.Subscribe(subject, h)
		wantError(t, err, nil)
	}
	late := make(chan error, 1)
	go func() { late <- client{Conn: nc, subject: "first"}.Write(t.Context(), claim(33), "late") }()
	<-inside
	wantError(t, client{Conn: nc, subject: "second"}.Write(t.Context(), claim(34), "shipped"), nil)
	close(goOn)
	wantError(t, <-late, fence.ErrStale)
	if e, err := store.Get(t.Context(), "orders.42"); err != nil || string(e.Value) != "shipped" {
		t.Errorf("%v, %v", e, err)
	}
}
