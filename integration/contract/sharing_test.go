package contract

import (
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// Many readers hold at once, or one writer. All readers of a phase have one fence, and the next writer a higher one.
func TestReadersAndWriters(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	eachForm(t, c, func(q *requester) {
		q.wantLease(q.want(messages.Status_GRANTED, 0, reader("r1")).GetLease(), "r1", 1, 1, unlimited, 0)
		q.wantLease(q.want(messages.Status_GRANTED, 0, reader("r2")).GetLease(), "r2", 2, 1, unlimited, 1)
		for _, r := range []*messages.Reply{q.want(messages.Status_HELD, 1, writer("w1")), q.state()} {
			q.wantHolders(r, 2, "r1", "r2")
			q.wantLease(r.GetHolders()[1], "r2", 2, 1, unlimited, 1)
		}
		w1 := q.wait(1, writer("w1"))
		q.want(messages.Status_HELD, 1, reader("r3")) // it would fit, but does not overtake the writer
		r3 := q.wait(2, reader("r3"))
		q.want(messages.Status_RELEASED, 0, give("r1", 1))
		q.wantHolders(q.state(), 1, "r2")
		q.want(messages.Status_RELEASED, 0, give("r2", 0))
		q.wantLease(w1.want(messages.Status_GRANTED, 0).GetLease(), "w1", 3, 3, 0)
		q.wantHolders(q.state(), 1, "w1")
		q.want(messages.Status_RELEASED, 0, give("w1", 3))
		q.wantLease(r3.want(messages.Status_GRANTED, 0).GetLease(), "r3", 4, 4, unlimited, 0)
		q.want(messages.Status_RELEASED, 0, give("r3", 4))
		q.want(messages.Status_FREE, 4, &messages.GetRequest{Waiters: true})
	})
}

// No more permits are held than each holder tolerates, and each has a number that no other has.
func TestSemaphore(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	eachForm(t, c, func(q *requester) {
		q.wantLease(q.want(messages.Status_GRANTED, 0, of("a", 4, 2)).GetLease(), "a", 1, 1, 4, 0, 1)
		q.wantHolders(q.want(messages.Status_HELD, 1, of("b", 4, 3)), 2, "a")
		q.wantHolders(q.want(messages.Status_HELD, 1, of("b", 2, 1)), 2, "a") // it tolerates one beside it
		q.want(messages.Status_HELD, 1, of("b", 0, 0))
		q.want(messages.Status_HELD, 1, of("b", 1, 1))
		q.wantLease(q.want(messages.Status_GRANTED, 0, of("b", 3, 1)).GetLease(), "b", 2, 1, 3, 2)
		q.wantHolders(q.want(messages.Status_HELD, 1, of("c", 4, 1)), 3, "a", "b") // b tolerates two beside it
		q.want(messages.Status_RELEASED, 0, give("a", 1))
		q.wantLease(q.want(messages.Status_GRANTED, 0, of("c", 4, 0)).GetLease(), "c", 3, 1, 4, 0)
		q.wantLease(q.want(messages.Status_GRANTED, 0, of("d", unlimited, 1)).GetLease(), "d", 4, 1, unlimited, 1)
		q.wantHolders(q.state(), 3, "b", "c", "d")
		for _, r := range []*messages.ReleaseRequest{give("c", 3), give("b", 2), give("d", 4)} {
			q.want(messages.Status_RELEASED, 0, r)
		}
		q.wantLease(q.want(messages.Status_GRANTED, 0, of("e", 4, 4)).GetLease(), "e", 5, 5, 4, 0, 1, 2, 3)
	})
}

// A planned restart changes nothing but that the ephemeral leases end: what has ended is known as before.
func TestSharedLeasesSurviveARestart(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	q := &requester{client: c, key: keysOf("k", 1)[0]}
	for token, r := range []*messages.AcquireRequest{of("a", 9, 3), of("b", 8, 1), of("gone", 9, 2), of("c", 7, 1)} {
		q.want(messages.Status_GRANTED, uint64(token+1), r)
	}
	ephemeral := of("memory", 9, 1)
	ephemeral.Durability = messages.Durability_EPHEMERAL
	q.wantHolders(q.want(messages.Status_HELD, 1, ephemeral), 7, "a", "b", "gone", "c") // c tolerates no more
	q.want(messages.Status_RELEASED, 0, give("gone", 3))
	q.wantLease(q.want(messages.Status_GRANTED, 5, ephemeral).GetLease(), "memory", 5, 1, 9, 4)
	q.wantHolders(q.state(), 6, "a", "b", "c", "memory")
	s.Restart()
	c.nc = s.Connect()
	r := q.state()
	q.wantHolders(r, 5, "a", "b", "c")
	q.wantLease(r.GetHolders()[0], "a", 1, 1, 9, 0, 1, 2)
	q.wantLease(r.GetHolders()[1], "b", 2, 1, 8, 3)
	q.wantLease(r.GetHolders()[2], "c", 4, 1, 7, 6)
	q.want(messages.Status_GRANTED, 1, of("a", 9, 3))
	q.want(messages.Status_GRANTED, 2, of("b", 8, 1))
	q.want(messages.Status_HELD, 1, of("d", 7, 3))
	q.want(messages.Status_RELEASED, 0, give("gone", 3))
	q.want(messages.Status_NOT_HELD, 0, &messages.ExtendRequest{Owner: "gone", Token: 3, TtlMs: hour})
	l := q.want(messages.Status_GRANTED, 0, of("d", 7, 2)).GetLease()
	if l.GetToken() <= 5 || fmt.Sprint(l.GetSlots()) != "[4 5]" || l.GetFence() != messages.Token(1).String() {
		t.Errorf("got %v", l)
	}
	for _, owner := range []string{"a", "b", "c", "d"} {
		q.want(messages.Status_RELEASED, 0, give(owner, 0))
	}
	q.want(messages.Status_FREE, l.GetToken(), &messages.GetRequest{})
}

// A listing has one entry for each lease, in pages of any size, and the queues of the resources in a page.
func TestListOfSharedLeases(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	want := map[string]int{"holdfast.acquire.solo": 1, "holdfast.acquire.three": 3, "holdfast.acquire.many": 30}
	for subject, n := range want {
		for i := range n {
			c.want(messages.Status_GRANTED, uint64(i+1), subject,
				fmt.Sprintf(`{"owner":"o%d","ttl_ms":600000,"limit":30}`, i))
		}
	}
	c.want(messages.Status_GRANTED, 1, acquire, `{"owner":"holder","ttl_ms":60000}`)
	c.queue("w", 1)
	whole := c.leases(1000)
	if len(whole) != 35 {
		t.Fatalf("%d leases are listed, want 35", len(whole))
	}
	for _, limit := range []int{1, 2, 3, 7, 34} {
		if paged := c.leases(limit); !slices.Equal(paged, whole) {
			t.Errorf("in pages of %d there are %v, want %v", limit, paged, whole)
		}
	}
	ordered := slices.Clone(whole)
	tokens := map[string]uint64{}
	for _, l := range ordered {
		if l.token != tokens[l.resource]+1 {
			t.Errorf("%v does not come behind token %d", l, tokens[l.resource])
		}
		tokens[l.resource] = l.token
	}
	if len(tokens) != 4 {
		t.Errorf("the listing has %v", tokens)
	}
}

// listed is what identifies a lease in a listing.
type listed struct {
	resource string
	token    uint64
}

// leases lists all leases page by page, with the queues, which must come with the resource's leases.
func (c *client) leases(limit int) (all []listed) {
	c.Helper()
	for after := ""; ; {
		page := c.list(fmt.Sprintf(`{"limit":%d,"after":%q,"waiters":true}`, limit, after))
		waiting := map[string]int{}
		for _, queue := range page.GetQueues() {
			waiting[queue.GetResource()] = len(queue.GetWaiters())
		}
		for _, l := range page.GetLeases() {
			all = append(all, listed{l.GetResource(), l.GetToken()})
			if (l.GetResource() == "orders.42") != (waiting[l.GetResource()] == 1) {
				c.Errorf("the queues of a page with %v are %v", l, page.GetQueues())
			}
			delete(waiting, l.GetResource())
		}
		if len(page.GetLeases()) > limit || len(waiting) > 0 {
			c.Errorf("a page of %d is %v", limit, page)
		}
		if after = page.GetNext(); after == "" {
			return all
		}
	}
}

// A listing page by page, while holders come and go, has each lease that was held all the time, once.
func TestListWhileHoldersComeAndGo(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	const subject = ".orders.42"
	for i := range 20 {
		c.want(messages.Status_GRANTED, uint64(i+1), "holdfast.acquire"+subject,
			fmt.Sprintf(`{"owner":"o%d","ttl_ms":600000,"limit":1000}`, i))
	}
	seen := map[uint64]int{}
	for after, i := "", 0; ; i++ {
		page := c.list(fmt.Sprintf(`{"limit":1,"after":%q}`, after))
		for _, l := range page.GetLeases() {
			seen[l.GetToken()]++
		}
		if after = page.GetNext(); after == "" || i == 60 {
			break
		}
		if i < 10 { // those just listed, so that the place is behind one that has ended
			c.want(messages.Status_RELEASED, 0, "holdfast.release"+subject, fmt.Sprintf(`{"owner":"o%d"}`, i))
			c.want(messages.Status_GRANTED, uint64(21+i), "holdfast.acquire"+subject,
				fmt.Sprintf(`{"owner":"later%d","ttl_ms":600000,"limit":1000}`, i))
		}
	}
	for token := uint64(1); token <= 20; token++ {
		if seen[token] != 1 {
			t.Errorf("the lease %d was listed %d times", token, seen[token])
		}
	}
}

// An answer shows the first 100 holders and the first 100 of those that wait, and counts all.
func TestManyHoldersAndWaiters(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	key := keysOf("k", 1)[0]
	const holders, waiters = 150, 120
	var acquires, waits bundle
	for i := range holders {
		acquires.acquire(key, reader(fmt.Sprint("h", i)))
	}
	for i := range waiters {
		r := of(fmt.Sprint("w", i), uint32(i), uint32(min(i, 7)))
		r.WaitMs = hour
		waits.acquire(key, r)
	}
	for _, r := range c.inbox(messages.Protobuf).ask(acquires) {
		if r.GetStatus() != messages.Status_GRANTED {
			t.Fatal(r)
		}
	}
	c.inbox(messages.Protobuf).send(waits)
	c.until("all wait", func() bool { return c.ask("holdfast.get."+key, ``).GetWaiting() == waiters })
	for _, e := range encodings {
		q := &requester{client: c, encoding: e, key: key}
		r := q.state()
		if len(r.GetHolders()) != 100 || r.GetHeld() != holders || r.GetHolders()[99].GetToken() != 100 ||
			r.GetWaiting() != waiters {
			t.Errorf("got %d holders of %d, %d wait", len(r.GetHolders()), r.GetHeld(), r.GetWaiting())
		}
		wantWaiters(t, r.GetWaiters())
		if r := q.want(messages.Status_HELD, 1, &messages.GetRequest{Stale: true}); len(r.GetWaiters()) != 0 {
			t.Errorf("got %v, which was not asked for", r.GetWaiters())
		}
	}
	for _, json := range []string{`{"waiters":true}`, `{"waiters":true,"pattern":"` + key + `","limit":1000}`} {
		page := c.list(json)
		if len(page.GetQueues()) != 1 || page.GetQueues()[0].GetResource() != key {
			t.Fatalf("%s: the queues are %v", json, page.GetQueues())
		}
		wantWaiters(t, page.GetQueues()[0].GetWaiters())
	}
	if page := c.list(``); len(page.GetQueues()) != 0 {
		t.Errorf("got %v, which were not asked for", page.GetQueues())
	}
}

func wantWaiters(t *testing.T, got []*messages.Waiter) {
	t.Helper()
	if len(got) != 100 {
		t.Errorf("%d waiting requests are shown, want 100", len(got))
	}
	for i, w := range got {
		want := &messages.Waiter{
			Owner: fmt.Sprint("w", i), Limit: uint32(i), Permits: uint32(max(min(i, 7), 1)),
			WaitingMs: w.GetWaitingMs(), LeftMs: w.GetLeftMs(),
		}
		if !proto.Equal(w, want) || w.GetLeftMs() > hour || w.GetLeftMs() == 0 ||
			w.GetWaitingMs()+w.GetLeftMs() > hour {
			t.Errorf("waiter %d is %v", i, w)
		}
	}
}
