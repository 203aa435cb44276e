package contract

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/holdfast-io/holdfast/messages"
)

const (
	acquire = "holdfast.acquire.orders.42"
	release = "holdfast.release.orders.42"
	extend  = "holdfast.extend.orders.42"
	get     = "holdfast.get.orders.42"
	breakIt = "holdfast.break.orders.42"
	set     = "holdfast.set.orders.42"
)

// The life of a lock, with every status that one node and no waiting can give.
func TestEveryStatus(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	c.want(messages.Status_FREE, 0, get, ``)
	c.want(messages.Status_NOT_HELD, 0, release, `{"owner":"a"}`)
	c.want(messages.Status_NOT_HELD, 0, extend, `{"owner":"a","ttl_ms":1000}`)
	c.want(messages.Status_NOT_HELD, 0, breakIt, `{"token":"1"}`)

	c.want(messages.Status_GRANTED, 1, acquire, `{"owner":"a","ttl_ms":30000}`)
	c.want(messages.Status_HELD, 1, acquire, `{"owner":"a","ttl_ms":30000}`)
	c.want(messages.Status_HELD, 1, acquire, `{"owner":"b","ttl_ms":30000}`)
	c.want(messages.Status_GRANTED, 1, acquire, `{"owner":"a","ttl_ms":60000,"reentrant":true}`)
	c.want(messages.Status_HELD, 1, get, ``)
	c.want(messages.Status_HELD, 1, get, `{"stale":true}`)
	c.want(messages.Status_NOT_OWNER, 1, release, `{"owner":"b","token":1}`)
	c.want(messages.Status_NOT_OWNER, 1, extend, `{"owner":"b","ttl_ms":1000}`)
	c.want(messages.Status_STALE_TOKEN, 1, release, `{"owner":"a","token":7}`)
	c.want(messages.Status_STALE_TOKEN, 1, extend, `{"owner":"a","token":7,"ttl_ms":1000}`)
	c.want(messages.Status_STALE_TOKEN, 1, breakIt, `{"token":7}`)
	c.want(messages.Status_EXTENDED, 1, extend, `{"owner":"a","token":1,"ttl_ms":50000}`)
	c.want(messages.Status_RELEASED, 0, release, `{"owner":"a","token":"1"}`)
	c.want(messages.Status_RELEASED, 0, release, `{"owner":"a","token":"1"}`)
	c.want(messages.Status_FREE, 1, get, ``)

	c.want(messages.Status_GRANTED, 2, acquire, `{"owner":"b","ttl_ms":30000}`)
	c.want(messages.Status_NOT_OWNER, 2, release, `{"owner":"a","token":1}`)
	c.want(messages.Status_RELEASED, 0, breakIt, `{"token":2,"reason":"the test says so"}`)
	c.want(messages.Status_EXPIRED, 0, extend, `{"owner":"b","token":2,"ttl_ms":1000}`)

	c.want(messages.Status_GRANTED, 3, acquire, `{"owner":"c","ttl_ms":100}`)
	// when the 100 ms are over
	c.want(messages.Status_GRANTED, 4, acquire, `{"owner":"d","ttl_ms":60000,"wait_ms":60000}`)
	c.want(messages.Status_TIMEOUT, 0, acquire, `{"owner":"e","ttl_ms":1000,"wait_ms":1}`)
}

// The same request again is the same grant, also across a restart.
func TestRepeatedRequest(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	const again = `{"owner":"a","ttl_ms":60000,"request_id":"r1"}`
	c.want(messages.Status_GRANTED, 1, acquire, again)
	c.want(messages.Status_GRANTED, 1, acquire, again)
	s.Restart()
	c.nc = s.Connect()
	c.want(messages.Status_GRANTED, 1, acquire, again)
	c.want(messages.Status_HELD, 1, acquire, `{"owner":"a","ttl_ms":60000,"request_id":"r2"}`)
	c.want(messages.Status_NOT_HELD, 0, release, `{"owner":"a","request_id":"r2"}`)
	c.want(messages.Status_RELEASED, 0, release, `{"owner":"a","request_id":"r1"}`)
	c.want(messages.Status_RELEASED, 0, release, `{"owner":"a","request_id":"r1"}`)
}

// A copy of a request that comes when its lease has ended takes nothing: not while the owner lives, for
// any of the last grants, and not after a restart, for the last one.
func TestLateRequest(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	const grants = 20
	request := func(n int) string { return fmt.Sprintf(`{"owner":"a","ttl_ms":60000,"request_id":"r%d"}`, n) }
	for n := 1; n <= grants; n++ {
		c.want(messages.Status_GRANTED, uint64(n), acquire, request(n))
		c.want(messages.Status_RELEASED, 0, release, `{"owner":"a"}`)
	}
	for n := 1; n <= grants; n++ {
		l := c.want(messages.Status_RELEASED, uint64(n), acquire, request(n)).GetLease()
		if l.GetOwner() != "a" || l.GetResource() != "orders.42" || l.GetFence() != messages.Token(n).String() {
			t.Errorf("got %v", l)
		}
	}
	c.want(messages.Status_NOT_HELD, 0, release, `{"owner":"a","request_id":"withdrawn"}`)
	c.want(messages.Status_CANCELLED, 0, acquire,
		`{"owner":"a","ttl_ms":60000,"wait_ms":1000,"request_id":"withdrawn"}`)
	c.want(messages.Status_FREE, grants, get, ``)
	s.Restart()
	c.nc = s.Connect()
	c.want(messages.Status_RELEASED, grants, acquire, request(grants))
	c.want(messages.Status_GRANTED, grants+1, acquire, request(0))
	c.want(messages.Status_RELEASED, 0, "holdfast.break.orders.42", fmt.Sprintf(`{"token":%d}`, grants+1))
	c.want(messages.Status_EXPIRED, grants+1, acquire, request(0))
}

func TestLeaseInTheAnswer(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	beforeMs := time.Now().UnixMilli()
	l := c.want(messages.Status_GRANTED, 1, "holdfast.acquire.caf=C3=A9",
		`{"owner":"a","ttl_ms":30000,"metadata":{"why":"a test"},"durability":"EPHEMERAL"}`).GetLease()
	if l.GetResource() != "café" || l.GetOwner() != "a" || l.GetFence() != "000000000000001" ||
		l.GetTtlMs() != 30000 || l.GetRemainingMs() != 30000 || l.GetMetadata()["why"] != "a test" ||
		l.GetDurability() != messages.Durability_EPHEMERAL {
		t.Errorf("got %v", l)
	}
	if at := l.GetAcquiredAtMs(); at < beforeMs || at > time.Now().UnixMilli() {
		t.Errorf("acquired at %d, asked at %d", at, beforeMs)
	}
}

// JSON is in the words of the contract, and in nothing else.
func TestWordsOfJSON(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	m := c.send(&nats.Msg{Subject: acquire, Data: []byte(`{"owner":"a","ttl_ms":30000}`)})
	var got map[string]any
	if err := json.Unmarshal(m.Data, &got); err != nil {
		t.Fatal(err)
	}
	lease := got["lease"].(map[string]any)
	delete(lease, "acquired_at_ms")
	want :=
		"map[lease:map[fence:000000000000001 owner:a remaining_ms:30000 resource:orders.42 token:1 ttl_ms:30000] " +
			"status:GRANTED]"
	if fmt.Sprint(got) != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}
}

func TestContentType(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	m := &nats.Msg{Subject: get, Data: []byte(" \n{}"),
		Header: nats.Header{"content-type": {"application/json; charset=utf-8"}}}
	if r := c.decode(messages.JSON, c.send(m)); r.GetStatus() != messages.Status_FREE {
		t.Errorf("got %v", r)
	}
}

func TestDirectDoor(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	key := "orders.42"
	shard := messages.ShardOf(key, 4)
	c.want(messages.Status_GRANTED, 1, messages.DefaultPrefix.Direct(messages.Shard{Number: shard}, messages.OpAcquire, key),
		`{"owner":"a","ttl_ms":30000}`)
	c.want(messages.Status_HELD, 1, get, ``)
	other := (shard + 1) % 4
	c.wantInvalid(&nats.Msg{Subject: messages.DefaultPrefix.Direct(messages.Shard{Number: other}, messages.OpGet, key)}, messages.JSON,
		"shard", fmt.Sprint(shard), "of 4 shards")
}

func TestInfo(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	var info messages.Info
	if err := messages.DecodeReply(messages.JSON, c.send(&nats.Msg{Subject: "holdfast.info"}).Data, &info); err != nil {
		t.Fatal(err)
	}
	if info.GetShards() != 4 || len(info.GetNodes()) != 1 || info.GetVersion() == "" ||
		fmt.Sprint(info.GetNodes()[0].GetShards()) != "[0 1 2 3]" || info.GetLimits().GetMaxTtlMs() != 86_400_000 ||
		fmt.Sprint(info.GetFeatures()) != "[batch sharing delay sessions values secrets order keep_secret tokens notices min_hold ranking]" {
		t.Errorf("got %v", &info)
	}
}

// The node is a NATS service: nats micro ls, info and stats find it.
func TestService(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	c.ask(get, ``)
	var info micro.Info
	c.json("$SRV.INFO.holdfast", &info)
	subjects := map[string]string{}
	for _, e := range info.Endpoints {
		subjects[e.Name] = e.Subject
	}
	for _, op := range messages.Operations {
		if got, want := subjects[string(op)], "holdfast."+string(op)+".>"; got != want {
			t.Errorf("endpoint %s stands at %q, want %q", op, got, want)
		}
	}
	var stats micro.Stats
	c.json("$SRV.STATS.holdfast", &stats)
	for _, e := range stats.Endpoints {
		if e.Name == "get" && e.NumRequests != 1 {
			t.Errorf("%d gets are counted, want 1", e.NumRequests)
		}
	}
}

func (c *client) json(subject string, into any) {
	c.Helper()
	if err := json.Unmarshal(c.send(&nats.Msg{Subject: subject}).Data, into); err != nil {
		c.Fatal(err)
	}
}
