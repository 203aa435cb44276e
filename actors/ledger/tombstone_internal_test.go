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
		e := &entry{used: rapid.Int64Range(0, 1<<45).Draw(t, "used"), Image: lease.Image{
			Grant: &journal.Grant{Resource: "r", Owner: "ann", Token: token.Draw(t, "token"), TtlMs: 1000, RequestId: "x"},
			State: rapid.SampledFrom([]messages.Event_Kind{
				messages.Event_RELEASED, messages.Event_EXPIRED, messages.Event_BROKEN, messages.Event_CONFIRMED,
			}).Draw(t, "state"),
			Floor: messages.Token(rapid.OneOf(rapid.Just(uint64(0)), token).Draw(t, "floor")),
		}}
		if rapid.Bool().Draw(t, "downgraded") {
			e.Grant.Limit, e.Grant.Former = 5, rapid.Uint64Range(0, e.Grant.GetToken()-1).Draw(t, "former")
		}
		want := e.Shrink()
		buried := bury(e).entry("r")
		read := newPage(0, 0)
		read.insert(buried.store("r"), 0)
		again, _ := read.find("r")
		for _, got := range []*entry{buried, again} {
			same := proto.Equal(got.Grant, want.Grant) && got.State == want.State && got.Floor == want.Floor && got.OwnerDigest == want.OwnerDigest
			if !same || got.used != e.used {
				t.Fatalf("got  %+v used %d\nwant %+v used %d", got.Image, got.used, want, e.used)
			}
		}
		if size := proto.Size(&journal.Page{Entries: []*journal.Entry{buried.store("r")}}); size > tombstoneWeight("r") {
			t.Fatalf("%d bytes, estimated are %d", size, tombstoneWeight("r"))
		}
	})
}
