package node

import (
	"slices"
	"testing"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/blindtest"
	"github.com/holdfast-io/holdfast/messages/peer"
)

// A report counts only on the subject that the node has made.
func FuzzUndeliverable(f *testing.F) {
	target := blindtest.New(f)
	u := newUndeliverable(&nats.Conn{})
	want := grant{"", "orders.42", 5}
	probe := u.probe(actors.Probe{Number: 3, Shard: 1})
	batch := u.many([]grant{want})
	one := u.one(want)
	for _, subject := range []string{one, probe, batch, batch + "."} {
		target.Add(subject)
	}
	target.Fuzz(func(t *testing.T, subject string) {
		if subject == batch {
			return // it is taken once
		}
		grants, got := u.parse(report(subject))
		switch {
		case subject == one && !slices.Equal(grants, []grant{want}), subject == probe && got == nil:
			t.Errorf("%q is not read", subject)
		case subject != one && subject != probe && (grants != nil || got != nil):
			t.Errorf("%q is read as %v and %v", subject, grants, got)
		}
	})
}

// An answer to a survey counts only on the subject that the node has made.
func FuzzSurveySubject(f *testing.F) {
	target := blindtest.New(f)
	s := &surveyor{inbox: newInbox(&nats.Conn{})}
	made := s.subject(1<<63, 7)
	for _, seed := range []string{made, made + ".", s.inbox.prefix + "x.1.2", s.inbox.prefix + "1.2", "x"} {
		target.Add(seed)
	}
	target.Fuzz(func(t *testing.T, subject string) {
		number, shard, ok := s.parse(subject)
		if ok != (subject == made) || ok && (number != 1<<63 || shard != 7) {
			t.Errorf("%q is read as %d and %d, %t", subject, number, shard, ok)
		}
	})
}

// A page of parts that other nodes have sent has all their leases, and one that is not the last says where the next
// begins.
func FuzzParts(f *testing.F) {
	target := blindtest.New(f)
	addParts(f, target)
	target.Fuzz(func(t *testing.T, first, second []byte) {
		reply, leases := &messages.ListReply{}, 0
		for _, data := range [][]byte{first, second} {
			part := &peer.Part{}
			if messages.DecodeReply(messages.Protobuf, data, part) != nil {
				return
			}
			more, err := add(reply, actors.Listed{Leases: part.GetLeases(), Queues: part.GetQueues(),
				More: part.GetMore()}, messages.AllTenants)
			if err != nil {
				if leases+len(part.GetLeases()) > 0 || !part.GetMore() {
					t.Errorf("%v is refused: %v", part, err)
				}
				return
			}
			if leases += len(part.GetLeases()); len(reply.GetLeases()) != leases {
				t.Errorf("%d leases of %d are in the page", len(reply.GetLeases()), leases)
			}
			if more {
				return
			}
			if reply.GetNext() != "" {
				t.Errorf("the page of %v goes on at %q", part, reply.GetNext())
			}
		}
	})
}

// addParts adds pairs of parts of listings.
func addParts(f *testing.F, target *blindtest.F) {
	f.Helper()
	var seeds [][]byte
	for _, p := range []*peer.Part{
		{},
		{More: true},
		{Leases: []*messages.Lease{{Resource: "a", Token: 1}}, More: true},
		{Leases: []*messages.Lease{{Resource: "b", Token: 7, Limit: 2}, {Resource: "", Limit: 1}}},
		{Queues: []*messages.Queue{{Resource: "a", Waiters: []*messages.Waiter{{Owner: "o"}}}}, More: true},
	} {
		data, err := proto.Marshal(p)
		if err != nil {
			f.Fatal(err)
		}
		seeds = append(seeds, data)
	}
	for _, first := range seeds {
		for _, second := range seeds {
			target.Add(first, second)
		}
	}
}

// A ranking of parts that other nodes have sent is sorted and no longer than it may be, whatever they are.
func FuzzRankedParts(f *testing.F) {
	target := blindtest.New(f)
	addParts(f, target)
	target.Fuzz(func(t *testing.T, first, second []byte) {
		for by := range messages.Ranking_name {
			ask := actors.Listing{By: messages.Ranking(by), Limit: 1, Bytes: listBytes}
			reply := &messages.ListReply{}
			for _, data := range [][]byte{first, second} {
				part := &peer.Part{}
				if messages.DecodeReply(messages.Protobuf, data, part) != nil {
					return
				}
				reply = merged(ask, reply, actors.Listed{Leases: part.GetLeases(), Queues: part.GetQueues()})
			}
			if len(reply.GetLeases()) > 1 || len(reply.GetQueues()) > 1 || reply.GetNext() != "" {
				t.Errorf("by %s the first one is %v", ask.By, reply)
			}
		}
	})
}
