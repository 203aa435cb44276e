package bench

import (
	"fmt"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// BenchmarkAcquireAlone compares what one client waits for an acquire with what it waits for one bare
// JetStream publish, both synced, in turns. An iteration is one of each.
func BenchmarkAcquireAlone(b *testing.B) {
	s := stand.Start(b, stand.Config{})
	nc := s.Connect()
	js, err := natsjs.New(nc)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := js.CreateStream(b.Context(), natsjs.StreamConfig{Name: "BARE", Subjects: []string{"bare"}}); err != nil {
		b.Fatal(err)
	}
	payload := make([]byte, 100)
	var acquire, publish series
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		err := ask(b.Context(), nc, messages.OpAcquire, fmt.Sprint("alone.", i),
			&messages.AcquireRequest{Owner: "one", TtlMs: 60_000}, messages.Status_GRANTED)
		acquire.add(time.Since(start).Seconds())
		if err != nil {
			b.Fatal(err)
		}
		start = time.Now()
		if _, err := js.Publish(b.Context(), "bare", payload); err != nil {
			b.Fatal(err)
		}
		publish.add(time.Since(start).Seconds())
	}
	b.ReportMetric(1e6*acquire.median(), "µs/acquire")
	b.ReportMetric(1e6*publish.median(), "µs/publish")
	b.ReportMetric(acquire.median()/publish.median(), "x-publish")
}
