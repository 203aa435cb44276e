package monitoring_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/cmd/holdfast/metrics"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
)

// clocksApart sets the clock of one of two nodes.
func clocksApart(t *testing.T) (targets []string, steps []func()) {
	t.Helper()
	outside := stand.StartNATS(t, embedded.Config{})
	right, wrong := stand.NewClock(), stand.NewClock()
	for name, clock := range map[string]*stand.Clock{"n1": right, "n2": wrong} {
		m := metrics.New("test")
		s := stand.Value(server.Start(t.Context(), server.Config{
			Config: node.Config{Name: name, Shards: 2, Clock: clock, Observer: m, Log: slog.New(slog.DiscardHandler)},
			NATS:   &nats.Options{Url: outside.ClientURL()},
		}))(t)
		t.Cleanup(func() { _ = s.Stop() })
		m.Started(s.Node())
		targets = append(targets, serve(t, m.Handler(slog.New(slog.DiscardHandler))))
	}
	return targets, []func(){func() { wrong.Set(10 * time.Second) }}
}
