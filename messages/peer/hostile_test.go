package peer_test

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/blindtest"
	"github.com/holdfast-io/holdfast/messages/peer"
)

// An announcement that passes the check names each shard at most once in a list, and shards that exist.
func FuzzAnnouncement(f *testing.F) {
	target := blindtest.New(f)
	for _, change := range []func(*peer.Announcement){
		func(*peer.Announcement) {},
		func(a *peer.Announcement) { a.Shards = 1 << 31 },
		func(a *peer.Announcement) { a.Opening = []uint32{2, 2} },
		func(a *peer.Announcement) { a.Leads = []uint32{1<<32 - 1} },
	} {
		data, err := proto.Marshal(announcement(change))
		if err != nil {
			f.Fatal(err)
		}
		target.Add(data)
	}
	target.Fuzz(func(t *testing.T, data []byte) {
		a := &peer.Announcement{}
		if messages.DecodeReply(messages.Protobuf, data, a) != nil {
			return
		}
		if err := a.Check(); err != nil {
			if !errors.Is(err, messages.ErrInvalid) || len(err.Error()) > 1000 {
				t.Errorf("%v", err)
			}
			return
		}
		for _, list := range [][]uint32{a.GetOpening(), a.GetAssigned(), a.GetFailing(), a.GetLeads(), a.GetStalled()} {
			seen := map[uint32]bool{}
			for _, shard := range list {
				if seen[shard] || shard >= a.GetShards() {
					t.Fatalf("%v of %d shards passes", list, a.GetShards())
				}
				seen[shard] = true
			}
		}
		for _, o := range a.GetOwned() {
			if epoch, ok := a.Owns(o.GetShard()); !ok || epoch != o.GetEpoch() {
				t.Fatalf("shard %d is owned in epoch %d, and found in %d", o.GetShard(), o.GetEpoch(), epoch)
			}
		}
	})
}

// The messages of a hand-over are refused or read, and are written and read again.
func FuzzHandOver(f *testing.F) {
	target := blindtest.New(f)
	target.Add(false, []byte{})
	for _, m := range []proto.Message{&peer.Inquiry{}, &peer.Part{}} {
		for i := range m.ProtoReflect().Descriptor().Fields().Len() {
			target.Add(i%2 == 0, []byte{byte(i+1) << 3, 1, byte(i+1)<<3 | 2, 2, 8, 1})
		}
	}
	target.Fuzz(func(t *testing.T, part bool, data []byte) {
		var m proto.Message = &peer.Inquiry{}
		if part {
			m = &peer.Part{}
		}
		if messages.DecodeReply(messages.Protobuf, data, m) != nil {
			return
		}
		encoded, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		again := m.ProtoReflect().New().Interface()
		if err := proto.Unmarshal(encoded, again); err != nil || !proto.Equal(m, again) {
			t.Errorf("%v becomes %v, %v", m, again, err)
		}
	})
}
