package node

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

func TestBatchesGroupByDestination(t *testing.T) {
	b := batches{maxBytes: messages.MaxBatchReplyBytes}
	var destinations []messages.ReplyTo
	for _, subject := range []string{"_INBOX.a", "_INBOX.b"} {
		for _, e := range []messages.Encoding{messages.Protobuf, messages.JSON} {
			destinations = append(destinations, messages.ReplyTo{Subject: subject, Encoding: e, Batched: true})
		}
	}
	const rounds = 3
	for i := range rounds {
		for _, to := range destinations {
			to.Call = uint64(i + 1)
			b.add(lease.Answer{To: to, Reply: granted(fmt.Sprint("r", i)), InDoubt: i > 0})
		}
	}
	if len(b.all) != len(destinations) {
		t.Fatalf("%d messages, want %d", len(b.all), len(destinations))
	}
	for i, r := range b.all {
		if r.to != destinations[i] {
			t.Errorf("message %d goes to %+v, want %+v", i, r.to, destinations[i])
		}
		if got := r.reply.GetAnswers(); len(got) != rounds || got[0].GetId() != 1 || got[2].GetId() != 3 ||
			got[1].GetReply().GetLease().GetResource() != "r1" {
			t.Errorf("message %d has %v", i, got)
		}
		if want := []grant{{"", "r1", 7}, {"", "r2", 7}}; !slices.Equal(r.grants, want) {
			t.Errorf("message %d has the grants %v, want those in doubt, %v", i, r.grants, want)
		}
	}
}

// Each message is within the bound, whatever the answers say, and carries the grants of its own answers.
func TestBatchesAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := batches{maxBytes: messages.MaxBatchReplyBytes}
		var want []uint64
		kinds := rapid.SliceOfN(largeReplies(), 1, 3).Draw(t, "replies")
		to := messages.ReplyTo{Subject: "_INBOX.a",
			Encoding: messages.Encoding(rapid.IntRange(0, 1).Draw(t, "encoding")), Batched: true}
		for i := range rapid.IntRange(1, messages.MaxBatchCalls).Draw(t, "answers") {
			to.Call = math.MaxUint64 - uint64(i)
			want = append(want, to.Call)
			b.add(lease.Answer{To: to, Reply: kinds[i%len(kinds)], InDoubt: kinds[i%len(kinds)].GetLease() != nil})
		}
		var got []uint64
		for i, r := range b.all {
			data, err := messages.Encode(to.Encoding, &r.reply)
			if err != nil {
				t.Fatal(err)
			}
			if len(data) > messages.MaxBatchReplyBytes {
				t.Errorf("message %d of %d has %d bytes", i, len(b.all), len(data))
			}
			var grants []grant
			for _, a := range r.reply.GetAnswers() {
				got = append(got, a.GetId())
				if a.GetReply().GetLease() != nil {
					grants = append(grants, grantOf(lease.Answer{Reply: a.GetReply()}))
				}
			}
			if !slices.Equal(r.grants, grants) {
				t.Errorf("message %d has the grants %v, want %v", i, r.grants, grants)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d answers, in the order %v", len(got), got)
		}
	})
}

// Answers to one batch share a message whatever their operations are and whenever their requests came.
func TestBatchesOfManyOperations(t *testing.T) {
	b := batches{maxBytes: messages.MaxBatchReplyBytes}
	for i, op := range messages.Operations {
		b.add(lease.Answer{
			To: messages.ReplyTo{
				Subject: "_INBOX.a", Batched: true, Call: uint64(i),
				Origin: messages.Origin{Operation: op, Received: time.Duration(i)},
			},
			Waited: i%2 == 0,
			Reply:  granted("orders.42"),
		})
	}
	if len(b.all) != 1 || len(b.all[0].reply.Answers) != len(messages.Operations) {
		t.Errorf("%d messages", len(b.all))
	}
}

// A message is not split without need: in protobuf it fills at least half the bound before the next one begins.
func TestBatchesAreFull(t *testing.T) {
	b := batches{maxBytes: messages.MaxBatchReplyBytes}
	for i := range 20_000 {
		b.add(lease.Answer{
			To: messages.ReplyTo{Subject: "_INBOX.a", Batched: true, Call: uint64(i)}, Reply: granted("orders.42"),
		})
	}
	if len(b.all) < 2 {
		t.Fatalf("%d messages: the test is vacuous", len(b.all))
	}
	for i, r := range b.all[:len(b.all)-1] {
		if size := proto.Size(&r.reply); size < messages.MaxBatchReplyBytes/2 || size > messages.MaxBatchReplyBytes {
			t.Errorf("message %d has %d bytes", i, size)
		}
	}
}

func granted(resource string) *messages.Reply {
	return &messages.Reply{Status: messages.Status_GRANTED, Lease: &messages.Lease{
		Resource: resource, Owner: "a", Token: 7, Fence: messages.Token(7).String(), TtlMs: 30_000, RemainingMs: 30_000,
	}}
}

// largeReplies generates replies with the longest numbers, and with texts that JSON has to escape.
func largeReplies() *rapid.Generator[*messages.Reply] {
	text := func(bytes int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			s := rapid.SampledFrom([]string{"\x01", "\u001f", "\"", "\\", "\n", "<", "a", "é", "\u2028", "🔒"}).Draw(t,
				"text")
			return strings.Repeat(s, rapid.SampledFrom([]int{0, 1, bytes / len(s)}).Draw(t, "times"))
		})
	}
	return rapid.Custom(func(t *rapid.T) *messages.Reply {
		r := &messages.Reply{Status: messages.Status_STALE_TOKEN, Waiting: math.MaxUint32,
			Error: text(1000).Draw(t, "error")}
		if rapid.Bool().Draw(t, "no lease") {
			return r
		}
		resource, err := messages.DecodeKey(strings.Repeat("k",
			rapid.IntRange(1, messages.MaxResourceBytes).Draw(t, "resource")))
		if err != nil {
			t.Fatal(err)
		}
		r.Lease = &messages.Lease{
			Resource: resource, Owner: text(messages.MaxOwnerBytes).Draw(t, "owner"),
			Token: uint64(messages.MaxToken), Fence: messages.MaxToken.String(), TtlMs: math.MaxUint32,
			RemainingMs:  math.MaxUint32,
			AcquiredAtMs: math.MinInt64, Durability: messages.Durability_EPHEMERAL, Metadata: map[string]string{},
		}
		for i := range rapid.IntRange(0, messages.MaxMetadataEntries).Draw(t, "entries") {
			r.Lease.Metadata[fmt.Sprint(i)] = text(messages.MaxMetadataBytes/messages.MaxMetadataEntries).Draw(t,
				"value")
		}
		return r
	})
}
