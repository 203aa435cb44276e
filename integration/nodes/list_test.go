package nodes

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// listed is what a listing in pages has.
type listed struct {
	// leases are resources and tokens in the order of the listing.
	leases []string
	// queues are the owners that wait for a resource.
	queues map[string][]string
	// within counts the pages that ended within a resource.
	within int
}

// list lists everything page by page, each page from any node.
func (f *fleet) list(nc *nats.Conn, limit int, waiters, heldBack bool) listed {
	f.Helper()
	found := listed{queues: map[string][]string{}}
	for after := ""; ; {
		m, err := nc.Request("holdfast.list", fmt.Appendf(nil,
			`{"limit":%d,"after":%q,"waiters":%v,"held_back":%v}`, limit, after, waiters, heldBack), patience)
		if err != nil {
			f.Fatal(err)
		}
		var r messages.ListReply
		if err := messages.DecodeReply(messages.JSON, m.Data, &r); err != nil {
			f.Fatal(err)
		}
		if len(r.GetLeases()) > limit || len(r.GetLeases()) == 0 && r.GetNext() != "" {
			f.Fatalf("a page of at most %d has %d leases: %s", limit, len(r.GetLeases()), m.Data)
		}
		for _, l := range r.GetLeases() {
			found.leases = append(found.leases, fmt.Sprint(l.GetResource(), " ", l.GetToken()))
		}
		for _, q := range r.GetQueues() {
			var owners []string
			for _, w := range q.GetWaiters() {
				owners = append(owners, fmt.Sprint(w.GetOwner(), " ", w.GetLimit(), " ", w.GetPermits()))
			}
			if before, ok := found.queues[q.GetResource()]; ok && !slices.Equal(before, owners) {
				f.Fatalf("the queue of %s is %v on one page and %v on another", q.GetResource(), before, owners)
			}
			found.queues[q.GetResource()] = owners
		}
		if after = r.GetNext(); after == "" {
			return found
		}
		if cursor, err := messages.ParseCursor(after); err != nil {
			f.Fatal(err)
		} else if cursor.Token > 0 {
			found.within++
		}
	}
}

// A listing has all leases of all nodes once and in one order, and their queues, whichever node answers a page and
// wherever the page ends.
func TestListOfSharedLeases(t *testing.T) {
	f := newFleet(t)
	f.startAll("n1", "n2", "n3")
	nc := f.connect()
	inbox := nats.NewInbox()
	stand.Value(nc.SubscribeSync(inbox))(t)
	held, queues := map[string]bool{}, map[string][]string{}
	for i := range 3 * shards {
		resource := fmt.Sprint("r", i)
		for k := range 1 + i%4 {
			payload := fmt.Sprintf(`{"owner":"o%d","ttl_ms":600000,"limit":%d,"durability":%d}`, k, min(i%4, 1)*9,
				(i+k)%3/2)
			f.want(nc, messages.Status_GRANTED, uint64(k+1), "holdfast.acquire."+resource, payload)
			held[fmt.Sprint(resource, " ", k+1)] = true
		}
		for k := range i % 3 {
			m := &nats.Msg{
				Subject: "holdfast.acquire." + resource, Reply: inbox,
				Data: fmt.Appendf(nil, `{"owner":"w%d","ttl_ms":600000,"wait_ms":600000,"limit":%d,"permits":%d}`, k,
					9*k, k),
			}
			stand.Must(t, nc.PublishMsg(m))
			queues[resource] = append(queues[resource], fmt.Sprint("w", k, " ", 9*k, " ", max(k, 1)))
			stand.Eventually(f, fmt.Sprint(k+1, " wait"), func() bool { return f.waiting(nc, resource) == k+1 })
		}
	}
	want := f.list(nc, 1000, true, false)
	if len(want.leases) != len(held) || slices.ContainsFunc(want.leases, func(l string) bool { return !held[l] }) {
		t.Fatalf("listed are %v, held are %v", want.leases, held)
	}
	if fmt.Sprint(want.queues) != fmt.Sprint(queues) {
		t.Errorf("listed queues are\n%v\nwant\n%v", want.queues, queues)
	}
	for _, limit := range []int{1, 2, 3, 7} {
		for range 3 { // so that each page comes from different nodes
			got := f.list(nc, limit, true, false)
			if !slices.Equal(got.leases, want.leases) || fmt.Sprint(got.queues) != fmt.Sprint(queues) {
				t.Errorf("in pages of %d: %v", limit, got)
			}
			if got.within == 0 {
				t.Errorf("no page of %d ended within a resource", limit)
			}
		}
	}
	if got := f.list(nc, 5, false, false); !slices.Equal(got.leases, want.leases) || len(got.queues) > 0 {
		t.Errorf("without queues: %v", got)
	}
}

// A listing of what is held back has all lost leases of all nodes once and in one order, and no lease that is held.
func TestListOfLostLeases(t *testing.T) {
	f := newFleet(t)
	f.startAll("n1", "n2", "n3")
	nc := f.connect()
	lost := map[string]bool{}
	for i := range 3 * shards {
		resource := fmt.Sprint("r", i)
		for k := range 1 + i%4 {
			payload := fmt.Sprintf(`{"owner":"o%d","ttl_ms":600000,"limit":%d,"delay_ms":600000,"confirm":%v}`, k,
				min(i%4, 1)*9, k%2 == 0)
			f.want(nc, messages.Status_GRANTED, uint64(k+1), "holdfast.acquire."+resource, payload)
		}
		for k := range 1 + i%4 - min(i%4, 1) {
			f.want(nc, messages.Status_RELEASED, 0, "holdfast.break."+resource, fmt.Sprintf(`{"token":%d}`, k+1))
			lost[fmt.Sprint(resource, " ", k+1)] = true
		}
	}
	want := f.list(nc, 1000, false, true)
	if len(want.leases) != len(lost) || slices.ContainsFunc(want.leases, func(l string) bool { return !lost[l] }) {
		t.Fatalf("listed are %v, lost are %v", want.leases, lost)
	}
	for _, limit := range []int{1, 2, 7} {
		for range 3 { // so that each page comes from different nodes
			if got := f.list(nc, limit, false, true); !slices.Equal(got.leases, want.leases) || got.within == 0 {
				t.Errorf("in pages of %d: %v", limit, got)
			}
		}
	}
	f.stop(f.owner("r1")) // the successors know what is held back
	f.settled()
	got := f.list(nc, 1000, false, true)
	if !slices.Equal(got.leases, want.leases) {
		t.Errorf("after a move: %v, want %v", got.leases, want.leases)
	}
	f.want(nc, messages.Status_RELEASED, 0, "holdfast.confirm.r1", `{"token":1}`)
	if got := f.list(nc, 1000, false, true); len(got.leases) != len(lost)-1 || slices.Contains(got.leases, "r1 1") {
		t.Errorf("one is confirmed: %v", got.leases)
	}
}

// waiting returns how many requests wait for a resource.
func (f *fleet) waiting(nc *nats.Conn, resource string) int {
	f.Helper()
	m, err := nc.Request("holdfast.get."+resource, nil, patience)
	if err != nil {
		f.Fatal(err)
	}
	var r messages.Reply
	if err := messages.DecodeReply(messages.JSON, m.Data, &r); err != nil {
		f.Fatal(err)
	}
	return int(r.GetWaiting())
}
