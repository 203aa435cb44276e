package fencenats_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencenats"
)

const (
	token34 = "000000000000034"
	token33 = "000000000000033"
	subject = "put.orders.42"
)

// endpoint is a guarded handler, of either kind, that has seen token 34 of orders.42.
type endpoint struct {
	*nats.Conn
	claims  chan fence.Claim // what the handler found; zero if nothing
	refused chan error       // what the hook received
}

// kinds serve a guarded handler that answers nothing in particular.
var kinds = map[string]func(testing.TB, *endpoint, *fencenats.Guard){
	"micro": func(tb testing.TB, e *endpoint, g *fencenats.Guard) {
		tb.Helper()
		mustServe(tb, e.Conn, subject, g.Handler(tb.Context(), func(ctx context.Context, r micro.Request) {
			e.handle(ctx)
			if r.Reply() != "" {
				wantError(tb, r.Respond(nil), nil)
			}
		}))
	},
	"message": func(tb testing.TB, e *endpoint, g *fencenats.Guard) {
		tb.Helper()
		_, err := e.Subscribe(subject, g.MsgHandler(tb.Context(), func(ctx context.Context, m *nats.Msg) {
			e.handle(ctx)
			if m.Reply != "" {
				wantError(tb, m.Respond(nil), nil)
			}
		}))
		wantError(tb, err, nil)
	},
}

func (e *endpoint) handle(ctx context.Context) {
	c, _ := fence.FromContext(ctx)
	e.claims <- c
}

// endpoints returns one of each kind, on servers of their own. Marks are nil for those of their bucket.
func endpoints(t *testing.T, marks fence.Marks, opts ...fencenats.Option) map[string]*endpoint {
	t.Helper()
	all := map[string]*endpoint{}
	for kind, serve := range kinds {
		e := &endpoint{mustConnect(t, mustStart(t)), make(chan fence.Claim, 1), make(chan error, 1)}
		marks := marks
		if marks == nil {
			marks = mustOpen(t, e.Conn)
			wantError(t, marks.Raise(t.Context(), claim(34)), nil)
		}
		hook := fencenats.OnRefused(func(_ string, err error) { e.refused <- err })
		serve(t, e, fencenats.New(marks, append(opts, hook)...))
		all[kind] = e
	}
	return all
}

// ask sends a request with these headers and returns the answer.
func (e *endpoint) ask(t *testing.T, h nats.Header) *nats.Msg {
	t.Helper()
	answer, err := e.RequestMsg(&nats.Msg{Subject: subject, Header: h}, patience)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// expect asks, and checks what the answer, the handler and the hook say of it: an empty code is that of a
// message which passes.
func (e *endpoint) expect(t *testing.T, h nats.Header, code string) {
	t.Helper()
	answer := e.ask(t, h)
	if got := answer.Header.Get("Nats-Service-Error-Code"); got != code {
		t.Errorf("%v: code %q, want %q", h, got, code)
	}
	passed, refused := e.outcome(t)
	if passed != (code == "") || (fencenats.ResponseError(answer) == nil) != passed {
		t.Errorf("%v: handler called: %v, hook: %v, answer: %v", h, passed, refused, fencenats.ResponseError(answer))
	}
	if errors.Is(refused, fencenats.ErrUnanswered) {
		t.Errorf("%v: was answered, but %v", h, refused)
	}
}

// outcome is what became of one message: it has passed, or the hook received why not.
func (e *endpoint) outcome(t *testing.T) (passed bool, refused error) {
	t.Helper()
	select {
	case <-e.claims:
		return true, nil
	case err := <-e.refused:
		return false, err
	case <-time.After(patience):
		t.Fatal("neither handler nor hook was called")
		return false, nil
	}
}

func header(token, resource string) nats.Header {
	h := nats.Header{}
	if token != "" {
		h.Set("Fencing-Token", token)
	}
	if resource != "" {
		h.Set("Fencing-Resource", resource)
	}
	return h
}
