package contract

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

const waitForIt = `{"owner":"%s","ttl_ms":60000,"wait_ms":60000,"request_id":"%[1]s"}`

// queue puts a request into the queue and returns where its answer will come.
func (c *client) queue(owner string, waiting uint32) *nats.Subscription {
	c.Helper()
	inbox := nats.NewInbox()
	sub, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		c.Fatal(err)
	}
	m := &nats.Msg{Subject: acquire, Reply: inbox, Data: fmt.Appendf(nil, waitForIt, owner)}
	if err := c.nc.PublishMsg(m); err != nil {
		c.Fatal(err)
	}
	// The front endpoint takes each operation on its own, so the get may come first.
	c.until(owner+" waits", func() bool { return c.ask(get, ``).GetWaiting() == waiting })
	return sub
}

func (c *client) next(sub *nats.Subscription) *messages.Reply {
	c.Helper()
	m, err := sub.NextMsg(patience)
	if err != nil {
		c.Fatal(err)
	}
	return c.decode(messages.JSON, m)
}

func TestQueueIsFIFO(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	c.want(messages.Status_GRANTED, 1, acquire, `{"owner":"a","ttl_ms":60000}`)
	var inboxes []*nats.Subscription
	for i := range 5 {
		inboxes = append(inboxes, c.queue(fmt.Sprint("w", i), uint32(i+1)))
	}
	c.queue("w0", 5) // the same request keeps its place; the answer goes to the newer sender
	c.want(messages.Status_RELEASED, 0, release, `{"owner":"a"}`)
	_ = inboxes[0].Unsubscribe()
	for i, inbox := range inboxes[1:] {
		c.want(messages.Status_RELEASED, 0, release, fmt.Sprintf(`{"owner":"w%d"}`, i))
		if r := c.next(inbox); r.GetStatus() != messages.Status_GRANTED || r.GetLease().GetToken() != uint64(i+3) {
			t.Fatalf("waiter %d got %v", i+1, r)
		}
	}
}

// A waiter that is gone does not hold the lock up: the next one gets it without a lease going by.
func TestWaiterThatIsGone(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	c.want(messages.Status_GRANTED, 1, acquire, `{"owner":"a","ttl_ms":60000}`)
	gone := &client{t, s.Connect()}
	gone.queue("gone1", 1)
	gone.queue("gone2", 2)
	inbox := c.queue("there", 3)
	stand.Disconnect(t, gone.nc, c.nc)
	c.want(messages.Status_RELEASED, 0, release, `{"owner":"a"}`)
	if r := c.next(inbox); r.GetStatus() != messages.Status_GRANTED || r.GetLease().GetToken() != 4 {
		t.Fatalf("got %v, want token 4 behind two that were taken back", r)
	}
	c.want(messages.Status_HELD, 4, get, ``)
}

// Only NATS can make the service take a grant back, not a waiter that sees the subject, and not for others.
func TestForgedBounces(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	c.want(messages.Status_GRANTED, 1, acquire, `{"owner":"a","ttl_ms":60000}`)
	inbox := c.queue("w", 1)
	c.want(messages.Status_RELEASED, 0, release, `{"owner":"a"}`)
	m := stand.Value(inbox.NextMsg(patience))(t)
	c.want(messages.Status_GRANTED, 1, "holdfast.acquire.other", `{"owner":"b","ttl_ms":60000}`)
	for _, forged := range []*nats.Msg{
		{Subject: m.Reply},
		{Subject: m.Reply, Data: []byte("x"), Header: nats.Header{"Status": {"200"}}},
		{Subject: m.Reply[:len(m.Reply)-len("2.orders.42")] + "1.other", Header: nats.Header{"Status": {"503"}}},
	} {
		stand.Must(t, c.nc.PublishMsg(forged))
	}
	c.want(messages.Status_HELD, 2, get, ``)
	c.want(messages.Status_HELD, 1, "holdfast.get.other", ``)
}
