package jstest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// MustOpen opens a deployment of the default prefix.
func MustOpen(tb testing.TB, nc *nats.Conn, shards uint32) *jetstream.Deployment {
	tb.Helper()
	d, err := jetstream.OpenDeployment(Context(tb), nc,
		jetstream.DeploymentConfig{Prefix: Prefix, Shards: shards, Log: Quiet()})
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// MustBucket starts a server with a deployment of one shard.
func MustBucket(tb testing.TB) (*jetstream.Bucket, *nats.Conn) {
	tb.Helper()
	nc := MustConnect(tb, MustStart(tb))
	return MustOpen(tb, nc, 1).Bucket(0), nc
}

// The names of a deployment of one shard.
const (
	Prefix     = messages.DefaultPrefix
	BucketName = "HOLDFAST_0"
	StreamName = "KV_HOLDFAST_0"
)

// Commit returns a commit of that epoch and number. size is that of its reason.
func Commit(epoch, number uint64, size int) *journal.Record {
	return &journal.Record{Format: journal.Format, Body: &journal.Record_Commit{Commit: &journal.Commit{
		Epoch:  epoch,
		Number: number,
		Writer: &journal.Writer{Node: fmt.Sprintf("node-%d", epoch), Incarnation: epoch},
		Changes: []*journal.Change{{
			Kind:   messages.Event_ACQUIRED,
			Grant:  &journal.Grant{Resource: "orders/1", Owner: "test", Token: number, TtlMs: 15000},
			Reason: strings.Repeat("x", size),
		}},
	}}}
}

// Page returns a page with one entry. size is that of its resource.
func Page(prefix, depth uint32, number uint64, size int) *journal.Record {
	return &journal.Record{Format: journal.Format, Body: &journal.Record_Page{Page: &journal.Page{
		Prefix: prefix, Depth: depth, Number: number, Epoch: 1,
		Entries: []*journal.Entry{{Grant: &journal.Grant{Resource: strings.Repeat("r", size)}}},
	}}}
}

// MustAppend appends the record behind position after.
func MustAppend(tb testing.TB, b *jetstream.Bucket, after uint64, r *journal.Record) {
	tb.Helper()
	if err := b.Append(Context(tb), after, r); err != nil {
		tb.Fatal(err)
	}
}

// MustFill appends commits numbered from 1 to n at the positions of the same numbers.
func MustFill(tb testing.TB, b *jetstream.Bucket, n uint64) {
	tb.Helper()
	for number := uint64(1); number <= n; number++ {
		MustAppend(tb, b, number-1, Commit(1, number, 10))
	}
}

// Stored is what a replay found.
type Stored struct {
	Last      uint64
	Positions []uint64
	Records   []*journal.Record
}

// Describe returns one line for each record.
func (s Stored) Describe() string {
	var all []string
	for i, r := range s.Records {
		all = append(all, fmt.Sprintf("%d: %s", s.Positions[i], r.Describe()))
	}
	return strings.Join(all, "\n")
}

// Replay reads the records behind position after.
func Replay(ctx context.Context, b *jetstream.Bucket, after uint64) (Stored, error) {
	var s Stored
	last, err := b.Replay(ctx, after, func(position uint64, r *journal.Record) error {
		s.Positions = append(s.Positions, position)
		s.Records = append(s.Records, r)
		return nil
	})
	s.Last = last
	return s, err
}

// MustReplay reads the records behind position after.
func MustReplay(tb testing.TB, b *jetstream.Bucket, after uint64) Stored {
	tb.Helper()
	s, err := Replay(Context(tb), b, after)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// Open opens a deployment of the default prefix, and discards its log unless cfg has one.
func Open(tb testing.TB, nc *nats.Conn, cfg jetstream.DeploymentConfig) (*jetstream.Deployment, error) {
	tb.Helper()
	if cfg.Prefix == "" {
		cfg.Prefix = Prefix
	}
	if cfg.Log == nil {
		cfg.Log = Quiet()
	}
	return jetstream.OpenDeployment(Context(tb), nc, cfg)
}

// MustConfig returns the settings of a bucket.
func MustConfig(tb testing.TB, nc *nats.Conn, bucket string) natsjs.StreamConfig {
	tb.Helper()
	stream, err := MustJetStream(tb, nc).Stream(Context(tb), "KV_"+bucket)
	if err != nil {
		tb.Fatal(err)
	}
	return stream.CachedInfo().Config
}
