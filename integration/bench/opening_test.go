package bench

import (
	"fmt"
	"math"
	"testing"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/ledger"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// BenchmarkOpening reads a shard of a million free resources, as a node does that opens it: of pages whose resources
// have been free for a while, of pages whose resources were released just now, and of commits alone, each of which
// releases 250 resources and acquires as many.
func BenchmarkOpening(b *testing.B) {
	for _, c := range []struct {
		name  string
		store func(*ledger.Ledger, func(*journal.Record))
	}{
		{"Remembered", func(l *ledger.Ledger, add func(*journal.Record)) {
			replayed(l, func(*journal.Record) {})
			for s, done := new(ledger.Sweep), false; !done; {
				done = s.Step(l, math.MaxInt64, all)
			}
			pages(l, add)
		}},
		{"Released", func(l *ledger.Ledger, add func(*journal.Record)) {
			replayed(l, func(*journal.Record) {})
			pages(l, add)
		}},
		{"Commits", replayed},
	} {
		b.Run(c.name, func(b *testing.B) {
			deployment, err := jetstream.OpenDeployment(b.Context(), stand.StartNATS(b, embedded.Config{}).Connect(b),
				jetstream.DeploymentConfig{Prefix: messages.DefaultPrefix, Shards: 1})
			stand.Must(b, err)
			bucket, last := deployment.Bucket(0), uint64(0)
			c.store(ledger.New(), func(r *journal.Record) {
				stand.Must(b, bucket.Append(b.Context(), last, r))
				last++
			})
			b.ReportAllocs()
			for b.Loop() {
				l := ledger.New()
				_, err := bucket.Replay(b.Context(), 0, func(position uint64, r *journal.Record) error {
					return l.Read(position, r, atOnce)
				})
				stand.Must(b, err)
				stand.Must(b, l.Complete())
				l.Restart(lease.Time{}, func(string, *lease.Image) {})
				if l.Free() != held {
					b.Fatalf("%d free resources", l.Free())
				}
			}
		})
	}
}

// all is a retention that forgets nothing.
var all = ledger.Retention{Before: math.MinInt64, Limit: 2 * held, InUse: func(string) bool { return false }}

func atOnce(int) lease.Instant { return 0 }

// replayed adds the commits of a million locks to a journal, and to the ledger that reads it.
func replayed(l *ledger.Ledger, add func(*journal.Record)) {
	const each = 250
	writer := &journal.Writer{Node: "n1", Incarnation: 1}
	for from := 0; from < held; from += each {
		r := l.Next(writer, 1_700_000_000_000)
		if from == 0 {
			r = l.TakeOver(writer, 1_700_000_000_000)
		}
		for i := range each {
			g := &journal.Grant{
				Resource: name(from + i), Owner: fmt.Sprintf("worker-%d@host", i), Token: 1, TtlMs: 30_000,
				AcquiredAtMs: 1_700_000_000_000, RequestId: fmt.Sprintf("01JB2Y8K3M6N%014d", from+i),
			}
			r.GetCommit().Changes = append(r.GetCommit().Changes,
				&journal.Change{Kind: messages.Event_ACQUIRED, Grant: g}, &journal.Change{Kind: messages.Event_RELEASED, Grant: g})
		}
		if err := l.Read(l.Head().Position+1, r, atOnce); err != nil {
			panic(err)
		}
		add(r)
	}
}

// pages adds all pages of a ledger to a journal behind a last commit of it, which begins there.
func pages(l *ledger.Ledger, add func(*journal.Record)) {
	r := l.Next(&journal.Writer{Node: "n1", Incarnation: 1}, 1_700_000_000_000)
	if err := l.Read(l.Head().Position+1, r, atOnce); err != nil {
		panic(err)
	}
	l.Restart(lease.Time{}, func(string, *lease.Image) {})
	add(r)
	c := l.Checkpoint()
	for page := c.Next(all); page != nil; page = c.Next(all) {
		add(page)
		c.Stored()
	}
}
