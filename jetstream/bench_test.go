package jetstream_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"

	natsjs "github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

var recordSizes = []struct {
	name string
	size int
}{{"200B", 200}, {"16kB", 16_000}}

// BenchmarkAppend measures one append after the other, as an owner makes them, beside what nats.go's
// own publish does with the same bytes and the same expectation.
func BenchmarkAppend(b *testing.B) {
	for _, s := range recordSizes {
		fill := s.size - proto.Size(jstest.Commit(1, 1, 0))
		b.Run(s.name+"/Append", func(b *testing.B) {
			bucket, _ := jstest.MustBucket(b)
			b.SetBytes(int64(s.size))
			b.ReportAllocs()
			for last := uint64(0); b.Loop(); last++ {
				if err := bucket.Append(b.Context(), last, jstest.Commit(1, last+1, fill)); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(s.name+"/Publish", func(b *testing.B) {
			_, nc := jstest.MustBucket(b)
			js := jstest.MustJetStream(b, nc)
			b.SetBytes(int64(s.size))
			b.ReportAllocs()
			for last := uint64(0); b.Loop(); last++ {
				data, err := proto.Marshal(jstest.Commit(1, last+1, fill))
				if err != nil {
					b.Fatal(err)
				}
				subject := "$KV.HOLDFAST_0.journal." + strconv.FormatUint(last+1, 10)
				if _, err := js.Publish(b.Context(), subject, data, natsjs.WithExpectLastSequence(last)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// fullPage is a page of 1000 ordinary resources, about as large as a page gets.
func fullPage(prefix uint32) *journal.Record {
	r := jstest.Page(prefix, 32, 1, 0)
	r.GetPage().Entries = nil
	for i := range 1000 {
		name := fmt.Sprintf("tenants/%d/orders/%d", prefix, i)
		r.GetPage().Entries = append(r.GetPage().Entries, &journal.Entry{
			State: messages.Event_ACQUIRED,
			Grant: &journal.Grant{
				Resource: name, Owner: "worker-17.example.net/4711", Token: uint64(i), TtlMs: 15_000,
				AcquiredAtMs: 1_700_000_000_000,
				Metadata: map[string]string{"purpose": "nightly billing run, started by the scheduler",
					"trace": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
				RequestId: "0198c5d7-6d6c-7e0f-9f0a-2b1c3d4e5f60",
			},
		})
	}
	return r
}

// BenchmarkReplay measures a shard's opening: 400 full pages, and a long journal.
func BenchmarkReplay(b *testing.B) {
	for _, c := range []struct {
		name  string
		count uint64
		make  func(i uint64) *journal.Record
	}{
		{"400Pages", 400, func(i uint64) *journal.Record { return fullPage(uint32(i)) }},
		{"20000Commits", 20_000, func(i uint64) *journal.Record { return jstest.Commit(1, i+1, 400) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			bucket, _ := jstest.MustBucket(b)
			size := 0
			for i := range c.count {
				r := c.make(i)
				size += proto.Size(r)
				if err := bucket.Append(b.Context(), i, r); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				n := uint64(0)
				if _, err := bucket.Replay(b.Context(), 0, func(uint64, *journal.Record) error { n++; return nil }); err != nil || n != c.count {
					b.Fatal(fmt.Errorf("%d records, error %w", n, err))
				}
			}
		})
	}
}
