package watch_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// BenchmarkWatch reads journals of short commits from their beginning.
func BenchmarkWatch(b *testing.B) {
	c, events := benchJournals(b, 20_000)
	for b.Loop() {
		read(b, c, events, holdfast.Since(time.Time{}), holdfast.UntilNow())
	}
	b.ReportMetric(float64(events)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkPresent finds out who holds what from the same journals.
func BenchmarkPresent(b *testing.B) {
	c, events := benchJournals(b, 20_000)
	for b.Loop() {
		read(b, c, events+1, holdfast.Present(), holdfast.UntilNow()) // the bookmark counts too
	}
	b.ReportMetric(float64(events)*float64(b.N)/b.Elapsed().Seconds(), "holders/s")
}

// benchJournals returns a client of a service in which that number of resources is held.
func benchJournals(b *testing.B, held int) (*holdfast.Client, int) {
	b.Helper()
	s := stand.Start(b, stand.Config{})
	nc := s.Connect()
	inbox := nc.NewInbox()
	answers := stand.Value(nc.SubscribeSync(inbox))(b)
	const window = 64 // so that commits are short
	for i := range held + window {
		if i < held {
			subject := messages.DefaultPrefix.Operation(messages.OpAcquire, fmt.Sprint("orders.", i))
			stand.Must(b, nc.PublishRequest(subject, inbox, []byte(`{"owner":"me","ttl_ms":86400000}`)))
		}
		if i >= window {
			stand.Value(answers.NextMsg(bound))(b)
		}
	}
	return stand.Client(b, nc), held
}

func read(b *testing.B, c *holdfast.Client, want int, opts ...holdfast.WatchOption) {
	b.Helper()
	n := 0
	for _, err := range c.Watch(b.Context(), ">", opts...) {
		if err != nil {
			b.Fatal(err)
		}
		n++
	}
	if n != want {
		b.Fatalf("%d events, wanted %d", n, want)
	}
}
