package actors_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/journaltest"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// receipt takes the answers of one subject, and drops the others.
type receipt struct{ answers chan *messages.Reply }

func (r receipt) Answer(_ uint32, answers []lease.Answer) {
	for _, a := range answers {
		if a.To.Subject == "bench" {
			r.answers <- a.Reply
		}
	}
}

// BenchmarkLargeSession opens a session with 100 000 leases, keeps it, and ends it while another client reads.
func BenchmarkLargeSession(b *testing.B) {
	const leases = 100_000
	system := actors.NewSystem(slog.New(slog.DiscardHandler))
	defer system.Close()
	r := receipt{make(chan *messages.Reply, 1000)}
	shard := system.StartShard(actors.ShardConfig{
		Node: "n1", Journal: journaltest.NewMemory(), Clock: actors.SystemClock(), Outbox: r,
		Log: slog.New(slog.DiscardHandler),
	})
	defer func() { _ = shard.Close(b.Context()) }()
	if err := shard.Opened(b.Context()); err != nil {
		b.Fatal(err)
	}
	to := messages.ReplyTo{Subject: "bench"}
	ask := func(resource string, e lease.Event) time.Duration {
		since := time.Now()
		if _, err := shard.SendAll([]actors.Request{{Resource: resource, Event: e}}); err != nil {
			b.Fatal(err)
		}
		<-r.answers
		return time.Since(since)
	}
	for b.Loop() {
		for i := range leases {
			a := inSession()
			a.Request.TtlMs, a.From = 3_600_000, to
			if _, err := shard.SendAll([]actors.Request{{Resource: fmt.Sprint("r", i), Event: a}}); err != nil {
				b.Fatal(err)
			}
			if i >= 500 {
				<-r.answers
			}
		}
		for range 500 {
			<-r.answers
		}
		k, e := keep(time.Hour), end(false)
		k.From = to
		var kept time.Duration
		for range 100 {
			kept += ask(sessionID, k)
		}
		b.ReportMetric(float64(kept.Microseconds())/100, "us/keep")

		since, n := time.Now(), 0
		// its answer goes nowhere
		if _, err := shard.SendAll([]actors.Request{{Resource: sessionID, Event: e}}); err != nil {
			b.Fatal(err)
		}
		var longest time.Duration
		g := get()
		g.From = to
		last := fmt.Sprint("r", leases)
		for ended := false; !ended; n++ {
			longest = max(longest, ask(last, g))
			k.From = to
			if _, err := shard.SendAll([]actors.Request{{Resource: sessionID, Event: k}}); err != nil {
				b.Fatal(err)
			}
			ended = (<-r.answers).GetStatus() == messages.Status_NOT_HELD
		}
		b.ReportMetric(float64(time.Since(since).Milliseconds()), "ms/end")
		b.ReportMetric(float64(longest.Microseconds())/1000, "ms/longest-wait")
	}
}
