package contract

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// fillWith acquires leases of one resource with requests of one shape until one is refused, which must be for this
// reason, and returns how many there are.
func (q *requester) fillWith(shape func(i int) *messages.AcquireRequest, why string) (held int) {
	q.Helper()
	for refused := false; !refused; {
		var b bundle
		for i := range 100 {
			b.acquire(q.key, shape(held+i))
		}
		for _, r := range q.inbox(messages.Protobuf).ask(b) {
			switch {
			case r.GetStatus() == messages.Status_GRANTED && r.GetLease().GetToken() == uint64(held+1):
				held++
			case r.GetStatus() == messages.Status_OVERLOADED && strings.Contains(r.GetError(), why):
				refused = true
			default:
				q.Fatalf("behind %d leases: got %v", held, r)
			}
		}
	}
	return held
}

// At most 1 000 leases are held on a resource. What waits enters when one ends.
func TestMostHoldersOfAResource(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	q := &requester{client: c, key: keysOf("k", 1)[0]}
	shape := func(i int) *messages.AcquireRequest {
		return &messages.AcquireRequest{Owner: fmt.Sprint("o", i), TtlMs: hour, Limit: unlimited}
	}
	const why = "1000 leases are held, the most that may"
	if n := q.fillWith(shape, why); n != 1000 {
		t.Errorf("%d leases are held", n)
	}
	c.wantOverloaded("holdfast.acquire."+q.key, `{"owner":"x","ttl_ms":1000,"limit":5000}`, why)
	q.want(messages.Status_HELD, 1, of("x", 5, 1))
	w := q.wait(1, writer("w"))
	waits := q.wait(2, reader("x"))
	q.want(messages.Status_CANCELLED, 0, &messages.ReleaseRequest{Owner: "w", RequestId: "w"})
	w.want(messages.Status_CANCELLED, 0)
	q.want(messages.Status_HELD, 1, reader("y")) // behind x, for which there is no room
	q.want(messages.Status_RELEASED, 0, give("o500", 501))
	q.wantLease(waits.want(messages.Status_GRANTED, 0).GetLease(), "x", 1001, 1, unlimited, 500)
	if r := q.state(); r.GetHeld() != 1000 || r.GetWaiting() != 0 {
		t.Errorf("got %d permits, %d wait", r.GetHeld(), r.GetWaiting())
	}
}

// The leases of a resource take at most 480 KB.
func TestMostBytesOfAResource(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	q := &requester{client: c, key: keysOf("k", 1)[0]}
	shape := func(i int) *messages.AcquireRequest {
		r := &messages.AcquireRequest{Owner: fmt.Sprint("o", i), TtlMs: hour, Limit: unlimited}
		r.Metadata = map[string]string{"k": strings.Repeat("v", 1000)}
		return r
	}
	n := q.fillWith(shape, "take 491520 bytes, the most that may")
	if n < 400 || n > 520 {
		t.Errorf("%d leases of a little more than 1000 bytes are held", n)
	}
	s.Restart()
	c.nc = s.Connect()
	if r := q.state(); int(r.GetHeld()) != n {
		t.Errorf("%d leases are held after a restart, %d before", r.GetHeld(), n)
	}
	if all := c.leases(1000); len(all) != n {
		t.Errorf("%d leases are listed", len(all))
	}
}

// What shows the largest leases that there may be still fits into a message of NATS, in each form: an answer shows
// fewer of them, and counts all.
func TestLargestLeasesAreShown(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	q := &requester{client: c, key: keysOf("k", 1)[0]}
	n := q.fillWith(func(i int) *messages.AcquireRequest {
		return &messages.AcquireRequest{
			Owner: fmt.Sprintf("%d%s", i, strings.Repeat(`"`, 250)), TtlMs: hour, Limit: unlimited,
			Permits:  messages.MaxPermits,
			Metadata: map[string]string{"k": strings.Repeat("\x01", 1000)},
		}
	}, "the most that may")
	if n < 50 {
		t.Fatalf("%d leases are held", n)
	}
	eachForm(t, c, func(form *requester) {
		form.key = q.key
		r := form.state()
		if len(r.GetHolders()) < 10 || r.GetHolders()[0].GetToken() != 1 ||
			r.GetHeld() != uint32(n)*messages.MaxPermits {
			t.Errorf("got %d holders, the first with token %d; %d permits", len(r.GetHolders()),
				r.GetHolders()[0].GetToken(), r.GetHeld())
		}
	})
	if all := c.leases(1000); len(all) != n {
		t.Errorf("%d leases are listed, want %d", len(all), n)
	}
}

// The limit of a node counts leases, not resources.
func TestHeldCountsLeases(t *testing.T) {
	t.Parallel()
	s := stand.Start(t, stand.Config{Capacity: node.Capacity{Held: 3}})
	c := &client{t, s.Connect()}
	for i := range 3 {
		c.want(messages.Status_GRANTED, uint64(i+1), acquire,
			fmt.Sprintf(`{"owner":"o%d","ttl_ms":60000,"limit":9,"permits":2}`, i))
	}
	c.wantOverloaded(acquire, `{"owner":"x","ttl_ms":60000,"limit":9}`, "held: 3 ")
	c.wantOverloaded("holdfast.acquire.other", `{"owner":"x","ttl_ms":60000}`, "held: 3 ")
	c.want(messages.Status_RELEASED, 0, release, `{"owner":"o1"}`)
	c.want(messages.Status_GRANTED, 1, "holdfast.acquire.other", `{"owner":"x","ttl_ms":60000}`)
}
