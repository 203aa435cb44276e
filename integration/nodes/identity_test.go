package nodes

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/actors/node/identity"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// The identity of a sender goes with a request to the node that owns the shard, and with one that waits to the next
// owner.
func TestIdentityOfForwardedRequests(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	verifying := func(c *node.Config) { c.Identity = identity.User }
	f.start("n1", verifying, func(c *node.Config) { c.First = true })
	f.start("n2", verifying)
	f.settled()
	nc := f.connect()
	ask := func(key, user, body string) *messages.Reply {
		t.Helper()
		m := &nats.Msg{
			Subject: "holdfast.acquire." + key, Data: []byte(body),
			Header: nats.Header{"Nats-Request-Info": {`{"acc":"A","user":"` + user + `"}`}}, // as of a service import
		}
		answer := stand.Value(nc.RequestMsg(m, patience))(t)
		r := &messages.Reply{}
		stand.Must(t, messages.DecodeReply(messages.JSON, answer.Data, r))
		return r
	}
	for i := range 4 * shards {
		key := fmt.Sprint("k", i)
		if r := ask(key, "alice", `{"ttl_ms":600000}`); r.GetStatus() != messages.Status_GRANTED ||
			r.GetLease().GetOwner() != "alice" || r.GetLease().GetIdentity() != "alice" {
			t.Errorf("%s: got %v, want a lease of alice", key, r)
		}
		if r := ask(key, "bob", `{"owner":"alice","ttl_ms":600000,"reentrant":true}`); r.GetStatus() != messages.Status_INVALID {
			t.Errorf("%s: bob got %v for alice, want INVALID", key, r)
		}
	}
	waited := make(chan *messages.Reply, 1)
	go func() { waited <- ask("k0", "bob", `{"wait_ms":600000,"ttl_ms":600000}`) }()
	stand.Eventually(f, "bob waits", func() bool { return f.waiting(nc, "k0") == 1 })
	f.stop(f.owner("k0"))
	f.want(nc, messages.Status_RELEASED, 0, "holdfast.break.k0", `{"token":1}`)
	if r := <-waited; r.GetStatus() != messages.Status_GRANTED || r.GetLease().GetIdentity() != "bob" {
		t.Errorf("the request that waited got %v", r)
	}
}
