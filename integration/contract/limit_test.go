package contract

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// wantOverloaded checks a refusal for a limit: it says which, to people and to programs.
func (c *client) wantOverloaded(subject, json, limit string) {
	c.Helper()
	m := c.send(&nats.Msg{Subject: subject, Data: []byte(json)})
	r := c.decode(messages.JSON, m)
	if r.GetStatus() != messages.Status_OVERLOADED || !strings.Contains(r.GetError(), limit) {
		c.Fatalf("got %v, want OVERLOADED for %q", r, limit)
	}
	if code := m.Header.Get(messages.HeaderServiceErrorCode); code != "429" {
		c.Errorf("service error code %q, want 429", code)
	}
}

func TestLimits(t *testing.T) {
	s := stand.Start(t, stand.Config{
		Shards: 2, Capacity: node.Capacity{Held: 10, Waiting: 5}, Tuning: actors.Tuning{MaxWaiting: 3},
	})
	c := &client{t, s.Connect()}
	for i := range 10 {
		c.want(messages.Status_GRANTED, 1, fmt.Sprint("holdfast.acquire.r", i), `{"owner":"a","ttl_ms":600000}`)
	}
	c.wantOverloaded("holdfast.acquire.r10", `{"owner":"a","ttl_ms":600000}`, "held: 10 leases")
	c.want(messages.Status_FREE, 0, "holdfast.get.r10", ``)
	c.want(messages.Status_HELD, 1, "holdfast.acquire.r0", `{"owner":"b","ttl_ms":600000}`)
	c.want(messages.Status_RELEASED, 0, "holdfast.release.r0", `{"owner":"a"}`)
	c.want(messages.Status_GRANTED, 1, "holdfast.acquire.r10", `{"owner":"a","ttl_ms":600000}`)

	// Ephemeral leases count as well.
	c.want(messages.Status_RELEASED, 0, "holdfast.release.r1", `{"owner":"a"}`)
	c.want(messages.Status_GRANTED, 1, "holdfast.acquire.e", `{"owner":"a","ttl_ms":600000,"durability":"EPHEMERAL"}`)
	c.wantOverloaded("holdfast.acquire.r1", `{"owner":"a","ttl_ms":600000}`, "held: 10 leases")

	wait := func(resource string, i int) (string, string) {
		return "holdfast.acquire." + resource, fmt.Sprintf(`{"owner":"w%d","ttl_ms":60000,"wait_ms":60000}`, i)
	}
	for i := range 5 {
		subject, json := wait([]string{"r2", "r2", "r2", "r3", "r3"}[i], i)
		inbox := nats.NewInbox()
		stand.Must(t, c.nc.PublishMsg(&nats.Msg{Subject: subject, Reply: inbox, Data: []byte(json)}))
	}
	c.until("all wait", func() bool {
		return c.ask("holdfast.get.r2", ``).GetWaiting() == 3 && c.ask("holdfast.get.r3", ``).GetWaiting() == 2
	})
	subject, json := wait("r2", 9)
	c.wantOverloaded(subject, json, "5 requests wait on this node")
	c.want(messages.Status_RELEASED, 0, "holdfast.release.r3", `{"owner":"a"}`) // one of those that wait has it now
	c.wantOverloaded(subject, json, `"r2": 3 requests wait already`)
}

func TestRate(t *testing.T) {
	s := stand.Start(t, stand.Config{Shards: 1, Capacity: node.Capacity{Rate: 1, Burst: 3}})
	c := &client{t, s.Connect()}
	for range 3 {
		c.want(messages.Status_FREE, 0, get, ``)
	}
	c.until("the burst is used up", func() bool { return c.ask(get, ``).GetStatus() != messages.Status_FREE })
	c.wantOverloaded(get, ``, "rate: 1 requests a second")
}

// What is about no single resource counts as well.
func TestRateOfListAndInfo(t *testing.T) {
	for _, subject := range []string{"holdfast.list", "holdfast.info"} {
		s := stand.Start(t, stand.Config{Shards: 1, Capacity: node.Capacity{Rate: 1, Burst: 1}})
		c := &client{t, s.Connect()}
		c.until("the burst is used up", func() bool {
			return c.send(&nats.Msg{Subject: subject}).Header.Get(messages.HeaderServiceErrorCode) != ""
		})
		c.wantOverloaded(subject, ``, "rate: 1 requests a second")
	}
}

// An ephemeral lease is one as any other, but that it costs no append, and that it ends with the
// node. Its tokens still only grow.
func TestEphemeral(t *testing.T) {
	s, c := start(t)
	const ephemeral = `{"owner":"a","ttl_ms":600000,"durability":"EPHEMERAL"}`
	c.want(messages.Status_GRANTED, 1, acquire, `{"owner":"a","ttl_ms":600000}`)
	c.want(messages.Status_RELEASED, 0, release, `{"owner":"a"}`)
	for token := range uint64(100) {
		c.want(messages.Status_GRANTED, token+2, acquire, ephemeral)
		c.want(messages.Status_HELD, token+2, acquire, `{"owner":"b","ttl_ms":1000}`)
		c.want(messages.Status_RELEASED, 0, release, `{"owner":"a"}`)
	}
	c.want(messages.Status_GRANTED, 102, acquire, ephemeral)
	if names := c.all("orders.*", 10); fmt.Sprint(names) != "[orders.42]" {
		t.Errorf("listed are %v", names)
	}
	s.Restart()
	c.nc = s.Connect()
	c.want(messages.Status_NOT_HELD, 0, release, `{"owner":"a"}`)
	r := c.ask(acquire, ephemeral)
	if r.GetStatus() != messages.Status_GRANTED || r.GetLease().GetToken() <= 102 {
		t.Fatalf("got %v, want a token above 102", r)
	}
	token := r.GetLease().GetToken()
	c.want(messages.Status_RELEASED, 0, release, `{"owner":"a"}`)
	c.want(messages.Status_GRANTED, token+1, acquire, `{"owner":"a","ttl_ms":600000}`)
	s.Restart()
	c.nc = s.Connect()
	c.want(messages.Status_HELD, token+1, get, ``)
	c.want(messages.Status_RELEASED, 0, release, `{"owner":"a"}`)
	c.want(messages.Status_GRANTED, token+2, acquire, `{"owner":"a","ttl_ms":600000}`)
}
