package fencenats_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/fence/fencenats"
)

// block is how many writes of one kind stand together. The two kinds take turns, so that what else the
// machine does slows both.
const block = 10

// BenchmarkGuard compares requests to one handler, which writes to a guarded bucket, without a guard of
// its own and with it.
func BenchmarkGuard(b *testing.B) {
	nc := mustStart(b).mustConnect(b)
	store := mustOpen(b, nc)
	put := func(ctx context.Context, m *nats.Msg) {
		_, err := store.Put(ctx, claim(34), m.Data)
		wantError(b, err, nil)
		wantError(b, m.Respond(nil), nil)
	}
	serve := func(subject string, h nats.MsgHandler) func() error {
		_, err := nc.Subscribe(subject, h)
		wantError(b, err, nil)
		return func() error { return client{nc, subject}.Write(b.Context(), claim(34), "shipped") }
	}
	bare := serve("bare", func(m *nats.Msg) { put(b.Context(), m) })
	guarded := serve("guarded", fencenats.New(store).MsgHandler(b.Context(), put))
	compare(b, bare, guarded)
}

// compare reports what a write costs without and with its guard, and their ratio.
func compare(b *testing.B, bare, guarded func() error) {
	b.Helper()
	var spent [2]time.Duration
	n := 0
	for b.Loop() {
		for i, write := range []func() error{bare, guarded} {
			start := time.Now()
			for range block {
				if err := write(); err != nil {
					b.Fatal(err)
				}
			}
			spent[i] += time.Since(start)
		}
		n += block
	}
	perWrite := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(n) }
	b.ReportMetric(0, "ns/op") // of two blocks: tells nobody anything
	b.ReportMetric(perWrite(spent[0]), "bare-µs/op")
	b.ReportMetric(perWrite(spent[1]), "guarded-µs/op")
	b.ReportMetric(float64(spent[1])/float64(spent[0]), "x-bare")
}
