package fencenats_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencekv"
	"github.com/holdfast-io/holdfast/clients/fence/fencenats"
	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

// workers share a subject, so that messages are handled at the same time.
const workers = 4

// TestMicroSuite sends requests to services whose endpoint writes to a guarded bucket. Both guards have
// the marks in common.
func TestMicroSuite(t *testing.T) {
	testSuite(t, func(tb testing.TB, nc *nats.Conn, subject string, g *fencenats.Guard, store *fencekv.Bucket) {
		tb.Helper()
		mustServe(tb, nc, subject, g.Handler(tb.Context(), func(ctx context.Context, r micro.Request) {
			c, _ := fence.FromContext(ctx)
			_, err := store.Put(ctx, c, r.Data())
			if err == nil {
				err = r.Respond(nil)
			} else {
				err = fencenats.Error(r, err)
			}
			wantError(tb, err, nil)
		}))
	})
}

// TestMsgSuite does so with subscriptions.
func TestMsgSuite(t *testing.T) {
	testSuite(t, func(tb testing.TB, nc *nats.Conn, subject string, g *fencenats.Guard, store *fencekv.Bucket) {
		tb.Helper()
		_, err := nc.QueueSubscribe(subject, "workers",
			g.MsgHandler(tb.Context(), func(ctx context.Context, m *nats.Msg) {
				c, _ := fence.FromContext(ctx)
				_, err := store.Put(ctx, c, m.Data)
				if err == nil {
					err = m.Respond(nil)
				} else {
					err = fencenats.MsgError(m, err)
				}
				wantError(tb, err, nil)
			}))
		wantError(tb, err, nil)
	})
}

func testSuite(t *testing.T, serve func(testing.TB, *nats.Conn, string, *fencenats.Guard, *fencekv.Bucket)) {
	t.Helper()
	s := mustStart(t)
	open := func(tb testing.TB, rule fence.Rule, opts ...fencenats.Option) register {
		tb.Helper()
		nc := mustConnect(tb, s)
		// Under Once the guard spends the token, and the store lets the same one pass.
		g, store := fencenats.New(mustOpen(tb, nc, fencekv.WithRule(rule)), opts...), mustOpen(tb, nc)
		subject := nats.NewInbox() // each register has one of its own
		for range workers {
			serve(tb, nc, subject, g, store)
		}
		wantError(tb, nc.Flush(), nil) // other connections find the subscriptions
		return register{client{Conn: nc, subject: subject}, store}
	}
	fencetest.Run(t, fencetest.Subject{
		Open: func(tb testing.TB, rule fence.Rule) fencetest.Register {
			tb.Helper()
			return open(tb, rule)
		},
		Observed: func(tb testing.TB, o fence.Observer) fencetest.Register {
			tb.Helper()
			return open(tb, fence.Repeatable, fencenats.WithObserver(o))
		},
		Through: func(tb testing.TB, rule fence.Rule, via func(string) string) fencetest.Register {
			tb.Helper()
			r := open(tb, rule)
			lost, end := context.WithCancel(tb.Context())
			nc, err := nats.Connect("nats://"+via(strings.TrimPrefix(s.ClientURL(), "nats://")),
				nats.DisconnectErrHandler(func(*nats.Conn, error) { end() }))
			wantError(tb, err, nil)
			tb.Cleanup(nc.Close)
			return register{client{Conn: nc, subject: r.subject, lost: lost}, r.store}
		},
		Marks: func(tb testing.TB, rule fence.Rule) fence.Marks {
			tb.Helper()
			return mustOpen(tb, mustConnect(tb, s), fencekv.WithRule(rule))
		},
		Restart: func(tb testing.TB) {
			tb.Helper()
			s.Restart(tb)
		},
	})
}

func mustServe(tb testing.TB, nc *nats.Conn, subject string, h micro.Handler) micro.Service {
	tb.Helper()
	s, err := micro.AddService(nc, micro.Config{Name: "orders", Version: "1.0.0"})
	if err != nil {
		tb.Fatal(err)
	}
	if err := s.AddEndpoint("put", h, micro.WithEndpointSubject(subject)); err != nil {
		tb.Fatal(err)
	}
	return s
}

type register struct {
	client
	store *fencekv.Bucket
}

func (r register) Read(ctx context.Context, resource string) (string, error) {
	e, err := r.store.Get(ctx, resource)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return string(e.Value), nil
}
