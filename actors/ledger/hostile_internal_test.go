package ledger

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/blindtest"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Records of any contents are refused as corrupt, or make a ledger that counts what it has and that its next owner
// reads in the same way.
func FuzzRecordsOfAShard(f *testing.F) {
	target := blindtest.New(f)
	for _, r := range seedRecords(f) {
		target.Add(r[0], r[1], r[2])
	}
	for _, h := range []*journal.HandOver{
		{LeftMs: map[uint64]uint32{journal.LeaseKey("a", 5): 7}},
		{Ended: []*journal.EndedRequest{{Request: make([]byte, journal.RequestSize), Token: 3,
			How: messages.Event_RELEASED, Behind: 2}}},
		{Ended: []*journal.EndedRequest{{Request: []byte("short")}}},
		{Sharers: []*journal.Sharers{{Resource: "a", Token: 5, Requests: [][]byte{[]byte("short")}}}},
	} {
		r := seedHandOver(f, h)
		target.Add(r[0], r[1], r[2])
	}
	block, resting := seedChanges(f, blockOf(1, 4), released(blockOf(1, 4))), seedChanges(f, blockOf(1, 4),
		resting(released(blockOf(1, 4))))
	target.Add(block[0], block[1], block[2])
	target.Add(resting[0], resting[1], resting[2])
	target.Fuzz(func(t *testing.T, first, second, third []byte) {
		l, seen := New(), map[string]messages.Token{} // the last token of each resource in the commits
		for i, data := range [][]byte{first, second, third} {
			r := &journal.Record{}
			if proto.Unmarshal(data, r) != nil {
				return
			}
			key, err := r.Key()
			if err != nil {
				return
			}
			if r, err = journal.Decode(key, data); err != nil {
				return
			}
			before := l.Head().Number
			if err := l.Read(uint64(i+1), r, never); err != nil {
				if !errors.Is(err, journal.ErrCorrupt) {
					t.Errorf("%v", err)
				}
				return
			}
			if r.GetPage() != nil {
				clear(seen) // it stands in the place of all before it
			}
			for _, c := range r.GetCommit().GetChanges() {
				if g := c.GetGrant(); g.GetToken() <= uint64(messages.MaxToken) {
					seen[g.GetResource()] = max(seen[g.GetResource()], g.Last())
				}
			}
			if c := r.GetCommit(); c != nil && before > 0 && c.GetNumber() != before+1 {
				t.Errorf("commit %d follows commit %d", c.GetNumber(), before)
			}
		}
		if err := l.Complete(); err != nil {
			if !errors.Is(err, journal.ErrCorrupt) {
				t.Errorf("%v", err)
			}
			return
		}
		lease.NewEndedRequests().TakeOver(0, l.Inherited())
		for resource := range seen {
			if image := l.Image(resource); seen[resource] > image.Token() {
				t.Errorf("%q has had token %d, the ledger knows of %d", resource, seen[resource], image.Token())
			}
		}
		taken := 0
		l.Restart(lease.Time{}, func(_ string, image *lease.Image) { taken += image.Leases() })
		s := &scribe{rapidOrT: t, ledger: l}
		s.checkCounts()
		if taken != l.Held() {
			t.Errorf("%d leases are taken over, and %d are held", taken, l.Held())
		}
	})
}

// seedHandOver are a grant, a hand-over behind it, and the opening of the next owner.
func seedHandOver(f *testing.F, h *journal.HandOver) (records [][]byte) {
	f.Helper()
	for i, c := range []*journal.Commit{
		{Epoch: 1, Changes: []*journal.Change{{Kind: messages.Event_ACQUIRED,
			Grant: &journal.Grant{Resource: "a", Owner: "o", Token: 5, TtlMs: 9}}}},
		{Epoch: 1, HandOver: h}, {Epoch: 2, Opened: true},
	} {
		c.Number = uint64(i + 1)
		data, err := proto.Marshal(&journal.Record{Format: journal.Format, Body: &journal.Record_Commit{Commit: c}})
		if err != nil {
			f.Fatal(err)
		}
		records = append(records, data)
	}
	return records
}

// seedChanges are the opening of a shard, a grant, and another change.
func seedChanges(f *testing.F, g *journal.Grant, next *journal.Change) (records [][]byte) {
	f.Helper()
	s := newScribe(f)
	s.commit(granted(g))
	s.commit(next)
	for _, r := range s.journal.Records() {
		data, err := proto.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		records = append(records, data)
	}
	return records
}

// seedRecords are triples of records that a ledger reads: commits, and a page between them.
func seedRecords(f *testing.F) (all [][3][]byte) {
	f.Helper()
	s := newScribe(f)
	for _, resource := range []string{"a", "b", "a", strings.Repeat("c", 100), "a"} {
		s.change(resource, "o")
	}
	s.reserve("d")
	s.page(0)
	s.change("b", "p")
	var records [][]byte
	_, err := s.journal.Replay(f.Context(), 0, func(_ uint64, r *journal.Record) error {
		data, err := proto.Marshal(r)
		records = append(records, data)
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	for i := range len(records) - 2 {
		all = append(all, [3][]byte(records[i:i+3]))
	}
	return all
}
