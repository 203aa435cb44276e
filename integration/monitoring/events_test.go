package monitoring_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/cmd/holdfast/metrics"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// fullStream lets the stream of events take no more, until the journal has lost commits whose events were not
// published. The node keeps 64 KB of them, and not 256 MB.
func fullStream(t *testing.T) (targets []string, steps []func()) {
	t.Helper()
	m := metrics.New("test")
	s := stand.Start(t, stand.Config{
		Observer: m, Retention: time.Hour, Shards: 1,
		Tuning: actors.Tuning{CompactCommits: 100, History: 1, Backlog: 64 << 10},
	})
	m.Started(s.Server.Node())
	nc := s.Connect()
	fill := func() {
		limitEvents(t, nc, 1)
		commit(t, nc)
	}
	empty := func() { limitEvents(t, nc, -1) }
	return []string{serve(t, m.Handler(slog.New(slog.DiscardHandler)))}, []func(){fill, empty}
}

// limitEvents lets the stream of events have at most so many, -1: any number, and refuse those beyond.
func limitEvents(t *testing.T, nc *nats.Conn, most int64) {
	t.Helper()
	js := stand.Value(jetstream.New(nc))(t)
	stream := stand.Value(js.Stream(t.Context(), messages.DefaultPrefix.EventStream()))(t)
	config := stream.CachedInfo().Config
	config.MaxMsgs, config.Discard = most, jetstream.DiscardNew
	stand.Value(js.UpdateStream(t.Context(), config))(t)
}

// commit makes some commits, one after the other.
func commit(t *testing.T, nc *nats.Conn) {
	t.Helper()
	for range 100 {
		for _, r := range []struct{ operation, request string }{{"acquire", `{"owner":"me","ttl_ms":10000}`},
			{"release", `{"owner":"me"}`}} {
			stand.Value(nc.Request("holdfast."+r.operation+".orders", []byte(r.request), time.Minute))(t)
		}
	}
}
