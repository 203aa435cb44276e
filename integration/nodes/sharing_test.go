package nodes

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// readers is the limit of a reader in JSON.
const readers = `"limit":4294967295`

// A queue of readers and writers moves with its shard as it is: each enters in its turn at the new owner, and tokens,
// slots and phases go on.
func TestQueueOfAllKindsMoves(t *testing.T) {
	f := newFleet(t)
	f.start("n1", func(c *node.Config) { c.First = true })
	f.start("n2")
	f.settled()
	q := f.line("r")
	for token, owner := range []string{"a", "b"} {
		q.enter(owner, readers)
		q.wantGranted(owner, uint64(token+1), 1, uint32(token))
	}
	for _, w := range []struct{ owner, kind string }{
		{"w1", `"limit":0`}, {"c", readers}, {"d", readers}, {"s1", `"limit":3,"permits":2`},
		{"s2", `"limit":3,"permits":2`}, {"w2", `"limit":1`},
	} {
		q.enter(w.owner, w.kind)
		q.waiting++
		f.untilWaiting(q.nc, q.waiting)
	}
	waiters := q.get().GetWaiters()
	old := f.owner("r")
	f.stop(old)
	if now := f.owner("r"); now == old {
		t.Fatal("the shard did not move")
	}
	after := q.get()
	if after.GetHeld() != 2 || len(after.GetHolders()) != 2 || int(after.GetWaiting()) != q.waiting {
		t.Fatalf("got %v", after)
	}
	for i, w := range after.GetWaiters() {
		if b := waiters[i]; w.GetOwner() != b.GetOwner() || w.GetLimit() != b.GetLimit() ||
			w.GetPermits() != b.GetPermits() || w.GetLeftMs() > b.GetLeftMs() {
			t.Errorf("waiter %d is %v, was %v", i, w, b)
		}
	}

	q.enter("e", readers) // a reader that comes now waits behind all
	q.waiting++
	f.untilWaiting(q.nc, q.waiting)
	q.leave("a", 1)
	q.leave("b", 2)
	q.wantGranted("w1", 3, 3)
	q.leave("w1", 3)
	q.wantGranted("c", 4, 4, 0)
	q.wantGranted("d", 5, 4, 1)
	q.leave("c", 4)
	q.wantGranted("s1", 6, 4, 0, 2) // beside d, with as many permits as it tolerates
	q.leave("d", 5)
	q.leave("s1", 6)
	q.wantGranted("s2", 7, 7, 0, 1)
	q.leave("s2", 7)
	q.wantGranted("w2", 8, 8)
	q.leave("w2", 8)
	q.wantGranted("e", 9, 9, 0)
}

// line sends requests for one resource and receives their answers.
type line struct {
	*fleet
	nc       *nats.Conn
	resource string
	inboxes  map[string]*nats.Subscription // by owner
	waiting  int
}

func (f *fleet) line(resource string) *line {
	return &line{fleet: f, nc: f.connect(), resource: resource, inboxes: make(map[string]*nats.Subscription)}
}

// enter sends an acquire that may wait; kind is its limit and permits.
func (q *line) enter(owner, kind string) {
	q.Helper()
	inbox, err := q.nc.SubscribeSync(nats.NewInbox())
	if err != nil {
		q.Fatal(err)
	}
	q.inboxes[owner] = inbox
	m := &nats.Msg{Subject: "holdfast.acquire." + q.resource, Reply: inbox.Subject, Data: fmt.Appendf(nil,
		`{"owner":%q,"request_id":%[1]q,"ttl_ms":600000,"wait_ms":600000,%s}`, owner, kind)}
	if err := q.nc.PublishMsg(m); err != nil {
		q.Fatal(err)
	}
}

// wantGranted receives the answer to the owner's last request.
func (q *line) wantGranted(owner string, token, fence uint64, slots ...uint32) {
	q.Helper()
	m, err := q.inboxes[owner].NextMsg(patience)
	if err != nil {
		q.Fatalf("%s: %v", owner, err)
	}
	var r messages.Reply
	if err := messages.DecodeReply(messages.JSON, m.Data, &r); err != nil || r.GetStatus() != messages.Status_GRANTED {
		q.Fatalf("%s: got %v, %v", owner, &r, err)
	}
	q.checkLease(r.GetLease(), owner, token, fence, slots...)
}

func (q *line) checkLease(l *messages.Lease, owner string, token, fence uint64, slots ...uint32) {
	q.Helper()
	got := fmt.Sprintln(l.GetOwner(), l.GetToken(), l.GetFence(), l.GetSlots())
	if want := fmt.Sprintln(owner, token, messages.Token(fence), slots); got != want {
		q.Errorf("the lease is %v,\nwant %s", l, want)
	}
}

// leave releases a lease.
func (q *line) leave(owner string, token uint64) {
	q.Helper()
	q.want(q.nc, messages.Status_RELEASED, 0, "holdfast.release."+q.resource,
		fmt.Sprintf(`{"owner":%q,"token":%d}`, owner, token))
}

// get returns what the owner of the shard shows. It asks again while a lost node may have taken the request.
func (q *line) get() *messages.Reply {
	q.Helper()
	var r messages.Reply
	stand.Eventually(q, "the owner answers", func() bool {
		m, err := q.nc.Request("holdfast.get."+q.resource, []byte(`{"waiters":true}`), time.Second)
		if err != nil {
			return false
		}
		if err := messages.DecodeReply(messages.JSON, m.Data, &r); err != nil {
			q.Fatal(err)
		}
		return r.GetStatus() == messages.Status_HELD
	})
	return &r
}
