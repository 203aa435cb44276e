package node

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/peer"
)

// shownIn returns what a ranking has: queues, leases.
func shownIn(r *messages.ListReply) string {
	var all []string
	for _, q := range r.GetQueues() {
		all = append(all, fmt.Sprint(q.GetTenant(), q.GetResource(), q.GetWaiting()))
	}
	all = append(all, "|")
	for _, l := range r.GetLeases() {
		all = append(all, fmt.Sprint(l.GetTenant(), l.GetResource(), l.GetToken()))
	}
	return strings.Join(all, " ")
}

// Merged are the first entries of all parts, in whichever order they come, each with what belongs to it.
func TestMergedRankings(t *testing.T) {
	queue := func(tenant, name string, waiting, oldest uint32) *messages.Queue {
		return &messages.Queue{Tenant: tenant, Resource: name, Waiting: waiting, OldestMs: oldest}
	}
	held := func(tenant, name string, token uint64, at int64) *messages.Lease {
		return &messages.Lease{Tenant: tenant, Resource: name, Token: token, AcquiredAtMs: at}
	}
	parts := []actors.Listed{
		{Queues: []*messages.Queue{queue("", "a", 3, 10), queue("", "b", 1, 90)},
			Leases: []*messages.Lease{held("", "a", 1, 500), held("", "b", 1, 400)}},
		{},
		{Queues: []*messages.Queue{queue("T", "a", 3, 10), queue("", "c", 3, 11), queue("", "d", 2, 5)},
			Leases: []*messages.Lease{held("", "c", 7, 300), held("", "c", 8, 450), held("T", "a", 1, 600)}},
	}
	for _, test := range []struct {
		by    messages.Ranking
		limit int
		bytes int
		want  string
	}{
		{messages.Ranking_QUEUE, 9, listBytes, "c3 a3 Ta3 d2 b1 | c7 a1 Ta1 b1"},
		{messages.Ranking_QUEUE, 4, listBytes, "c3 a3 Ta3 d2 | c7 a1 Ta1"},
		{messages.Ranking_WAIT, 2, listBytes, "b1 c3 | b1 c7"},
		{messages.Ranking_HOLD, 9, listBytes, "c3 b1 a3 Ta3 | c7 b1 c8 a1 Ta1"},
		{messages.Ranking_HOLD, 3, listBytes, "c3 b1 | c7 b1 c8"},
		{messages.Ranking_HOLD, 9, 1, "c3 | c7"},
	} {
		for range 2 {
			reply := &messages.ListReply{}
			for _, part := range parts {
				reply = merged(actors.Listing{By: test.by, Limit: test.limit, Bytes: test.bytes}, reply, part)
			}
			if got := shownIn(reply); got != test.want {
				t.Errorf("by %s, the first %d: %s, want %s", test.by, test.limit, got, test.want)
			}
			slices.Reverse(parts)
		}
	}
}

// A node of a later version may ask for a ranking that this one does not know. It gets no other one.
func TestUnknownRanking(t *testing.T) {
	data, err := messages.Encode(messages.Protobuf, &peer.Inquiry{By: 9})
	if err != nil {
		t.Fatal(err)
	}
	l := &lister{cfg: Config{Name: "n1"}}
	if part := l.answerInquiry(data); part.GetError() != "node n1 does not know ranking 9" {
		t.Errorf("got %v", part)
	}
}
