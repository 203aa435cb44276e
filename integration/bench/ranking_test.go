package bench

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// queued is how many resources have a queue: the one with number i has 1 + i%9 waiting requests, 100 000 in all.
	queued = 20_000
	// rankings is how many of a kind are asked for.
	rankings = 20
)

// BenchmarkRanking asks for what is contended among a million leases and 100 000 waiting requests, and reports how long
// each ranking takes, and how long reads of other resources take meanwhile: ranking and read wait for the same goroutine.
// Run it with -benchtime=1x; it takes some minutes.
func BenchmarkRanking(b *testing.B) {
	for b.Loop() {
		m := stand.StartAlone(b, "--max-waiting", "200000")
		fill(b, m.URL, held)
		nc := stand.Dial(b, m.URL)
		enqueue(b, nc)
		b.ReportMetric(float64(m.Resident())/1e6, "MB")
		measureRanking(b, nc, m, "nothing", func() {})
		for _, r := range []*messages.ListRequest{
			{By: messages.Ranking_QUEUE}, {By: messages.Ranking_WAIT}, {By: messages.Ranking_HOLD},
			{By: messages.Ranking_QUEUE, Waiters: true}, {By: messages.Ranking_QUEUE, Limit: 1000},
			{By: messages.Ranking_HOLD, Limit: 1000},
		} {
			measureRanking(b, nc, m, r.String(), func() {
				var page messages.ListReply
				data, err := messages.Encode(messages.Protobuf, r)
				if err != nil {
					b.Fatal(err)
				}
				answer, err := nc.Request(messages.DefaultPrefix.List(), data, time.Minute)
				if err == nil {
					err = messages.DecodeReply(messages.Protobuf, answer.Data, &page)
				}
				if err != nil || len(page.GetLeases()) == 0 {
					b.Fatal(err, &page)
				}
			})
		}
		m.Stop()
	}
}

// enqueue lets requests wait.
func enqueue(b *testing.B, nc *nats.Conn) {
	b.Helper()
	sub, err := nc.SubscribeSync(nats.NewInbox())
	if err != nil {
		b.Fatal(err)
	}
	err = inParallel(clients, queued, func(i int) error {
		for k := range 1 + i%9 {
			data, err := messages.Encode(messages.Protobuf, &messages.AcquireRequest{
				Owner: fmt.Sprint("waiter-", k), TtlMs: 86_400_000, WaitMs: messages.MaxWaitMillis,
			})
			if err == nil {
				err = nc.PublishRequest(messages.DefaultPrefix.Operation(messages.OpAcquire, name(i)), sub.Subject, data)
			}
			if err != nil {
				return err
			}
		}
		for {
			reply, err := exchange(b.Context(), nc, messages.OpGet, name(i), &messages.GetRequest{Stale: true})
			if err != nil || int(reply.GetWaiting()) == 1+i%9 {
				return err
			}
		}
	})
	if err != nil {
		b.Fatal(err)
	}
}

// measureRanking does something again and again, while reads go on.
func measureRanking(b *testing.B, nc *nats.Conn, m *stand.Member, what string, do func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	var took, reads series
	var reading sync.WaitGroup
	reading.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			since := time.Now()
			_, err := exchange(b.Context(), nc, messages.OpGet, name(i%held), &messages.GetRequest{Stale: true})
			if err != nil {
				b.Error(err)
				return
			}
			reads.add(float64(time.Since(since).Microseconds()) / 1000)
			<-time.After(time.Millisecond)
		}
	})
	before := m.CPU()
	for range rankings {
		since := time.Now()
		do()
		took.add(float64(time.Since(since).Microseconds()) / 1000)
		<-time.After(50 * time.Millisecond)
	}
	cpu := m.CPU() - before
	cancel()
	reading.Wait()
	b.Logf("%-24s median %6.1f ms, slowest %6.1f ms, processor with the reads %5.1f ms each; "+
		"reads meanwhile: median %.2f ms, 99%% below %.2f ms, slowest %.1f ms",
		what, took.median(), took.most(), float64(cpu.Milliseconds())/rankings,
		reads.median(), reads.below(0.99), reads.most())
}
