package ledger

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// A tombstone loses nothing of what a shrunk resource has, which answers as the whole one does; nor does one that was
// stored and read again.
func TestTombstoneIsAShrunkResource(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		token := rapid.Uint64Range(1, uint64(messages.MaxToken))
		stored := &journal.Entry{
			UsedMs: rapid.Int64Range(0, 1<<45).Draw(t, "used"),
			Grant: &journal.Grant{Resource: "r", Owner: "ann", Token: token.Draw(t, "token"), TtlMs: 1000,
				RequestId: "x"},
			State: rapid.SampledFrom([]messages.Event_Kind{
				messages.Event_RELEASED, messages.Event_EXPIRED, messages.Event_BROKEN, messages.Event_CONFIRMED,
			}).Draw(t, "state"),
			Reserved: rapid.OneOf(rapid.Just(uint64(0)), token).Draw(t, "floor"),
		}
		if rapid.Bool().Draw(t, "downgraded") {
			stored.Grant.Limit, stored.Grant.Former = 5,
				rapid.Uint64Range(0, stored.Grant.GetToken()-1).Draw(t, "former")
		} else if rapid.Bool().Draw(t, "block") {
			stored.Grant.Tokens = rapid.Uint32Range(0, messages.MaxTokens).Draw(t, "tokens")
		}
		e := &entry{used: stored.GetUsedMs(), Image: lease.Restore(stored)}
		want := e.Shrink()
		buried := newTombstone(e).entry("r")
		read := newPage(0, 0)
		read.insert(buried.store("r"))
		again, _ := read.find("r")
		for _, got := range []*entry{buried, again} {
			same := proto.Equal(got.Last().Grant, want.Last().Grant) && got.Last().How == want.Last().How &&
				got.Floor == want.Floor && got.OwnerDigest == want.OwnerDigest
			if !same || got.used != e.used {
				t.Fatalf("got  %+v used %d\nwant %+v used %d", got.Image, got.used, want, e.used)
			}
		}
		if size := proto.Size(&journal.Page{Entries: []*journal.Entry{buried.store("r")}}); size > tombstoneWeight("r") {
			t.Fatalf("%d bytes, estimated are %d", size, tombstoneWeight("r"))
		}
	})
}
