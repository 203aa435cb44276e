package fencenats_test

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/fence/fencenats"
	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

// BenchmarkGuard compares requests to one handler, which writes to a guarded bucket, without a guard of
// its own and with it.
func BenchmarkGuard(b *testing.B) {
	nc := mustConnect(b, mustStart(b))
	store := mustOpen(b, nc)
	put := func(ctx context.Context, m *nats.Msg) {
		_, err := store.Put(ctx, claim(34), m.Data)
		wantError(b, err, nil)
		wantError(b, m.Respond(nil), nil)
	}
	serve := func(subject string, h nats.MsgHandler) func() error {
		_, err := nc.Subscribe(subject, h)
		wantError(b, err, nil)
		return func() error { return client{Conn: nc, subject: subject}.Write(b.Context(), claim(34), "shipped") }
	}
	bare := serve("bare", func(m *nats.Msg) { put(b.Context(), m) })
	guarded := serve("guarded", fencenats.New(store).MsgHandler(b.Context(), put))
	fencetest.Compare(b, bare, guarded)
}
