package nodes

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// A request of a tenant stays one when another node owns the shard, when it waits for its next owner, and in a batch.
// The limits of the owner apply, and sessions of all nodes are those of the tenant.
func TestTenantsOfManyNodes(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	with := func(c *node.Config) {
		c.Tenants = map[string]node.TenantLimits{"A": {}, "B": {Held: 3}}
		c.Audit = f.log(c.Name + " audit")
	}
	f.start("n1", with, func(c *node.Config) { c.First = true })
	f.start("n2", with)
	f.settled()
	nc := f.connect()
	const names = 2 * shards
	for i := range names {
		for _, prefix := range []string{"holdfast", "holdfast.tenant.A"} {
			body := fmt.Sprintf(`{"owner":%q,"ttl_ms":600000,"session":%q}`, prefix, session)
			f.want(nc, messages.Status_GRANTED, 1, fmt.Sprint(prefix, ".acquire.k", i), body)
		}
		f.want(nc, messages.Status_FREE, 0, fmt.Sprint("holdfast.tenant.B.get.k", i), "")
	}
	// Pages of all nodes.
	for body, want := range map[string]int{`{"limit":1000}`: names, `{"limit":1000,"tenant":"A"}`: names,
		`{"limit":1000,"tenant":"B"}`: 0, `{"limit":1000,"tenant":"*"}`: 2 * names} {
		for range 4 { // any node answers
			if n := len(f.page(nc, "holdfast.list", body).GetLeases()); n != want {
				t.Errorf("list with %s has %d leases, want %d", body, n, want)
			}
		}
	}
	seen, after := map[string]bool{}, ""
	for {
		body := stand.Value(json.Marshal(map[string]any{"limit": 3, "tenant": "*", "after": after}))(t)
		page := f.page(nc, "holdfast.list", string(body))
		for _, l := range page.GetLeases() {
			seen[l.GetTenant()+" "+l.GetResource()] = true
		}
		if after = page.GetNext(); after == "" {
			break
		}
	}
	if len(seen) != 2*names {
		t.Errorf("the pages have %d leases, want %d", len(seen), 2*names)
	}
	// A batch below the prefix of a tenant.
	m, err := nc.Request(fmt.Sprintf("holdfast.tenant.A.shard.%d.batch", messages.ShardOf("k0", shards)),
		[]byte(`{"calls":[{"id":"1","key":"k0","get":{}}]}`), patience)
	if err != nil || !strings.Contains(string(m.Data), `"owner":"holdfast.tenant.A"`) {
		t.Errorf("batch: got %s, %v, want the lease of the tenant", m.Data, err)
	}
	// The queue goes with the shard to its next owner.
	waited := make(chan *messages.Reply, 1)
	go func() {
		waited <- f.asked(nc, "holdfast.tenant.A.acquire.k0",
			`{"owner":"w","wait_ms":600000,"ttl_ms":600000,"session":"another-session-01"}`)
	}()
	waiting := func(subject string) uint32 { return f.asked(nc, subject, "").GetWaiting() }
	stand.Eventually(f, "a request waits", func() bool { return waiting("holdfast.tenant.A.get.k0") == 1 })
	f.stop(f.owner("k0"))
	stand.Eventually(f, "the request waits at the next owner",
		func() bool { return waiting("holdfast.tenant.A.get.k0") == 1 })
	if n := waiting("holdfast.get.k0"); n != 0 {
		t.Errorf("%d requests wait for the resource of no tenant", n)
	}
	f.want(nc, messages.Status_RELEASED, 0, "holdfast.tenant.A.break.k0", `{"token":1}`)
	if r := <-waited; r.GetStatus() != messages.Status_GRANTED || r.GetLease().GetToken() != 2 ||
		r.GetLease().GetResource() != "k0" {
		t.Errorf("the request that waited got %v", r)
	}
	if !strings.Contains(f.logs.String(), `msg="lock broken"`) ||
		!strings.Contains(f.logs.String(), "tenant=A resource=k0 owner=holdfast.tenant.A") {
		t.Error("the audit does not name the tenant")
	}
	f.want(nc, messages.Status_HELD, 1, "holdfast.get.k0", "")
	// Sessions are those of the tenant, in the shards of all nodes.
	f.start("n3", with)
	f.settled()
	f.want(nc, messages.Status_RELEASED, 0, "holdfast.tenant.A.end."+session, "")
	f.want(nc, messages.Status_FREE, 1, "holdfast.tenant.A.get.k1", "")
	f.want(nc, messages.Status_HELD, 1, "holdfast.get.k1", "")
	if r := f.asked(nc, "holdfast.keep."+session, `{"ttl_ms":600000}`); r.GetHeld() != names {
		t.Errorf("the session of no tenant has %d leases, want %d", r.GetHeld(), names)
	}
	// What a tenant holds on one node does not count on the other.
	full := 0
	for i := range names {
		r := f.asked(nc, fmt.Sprint("holdfast.tenant.B.acquire.k", i), `{"owner":"b","ttl_ms":600000}`)
		if r.GetStatus() == messages.Status_OVERLOADED && strings.HasPrefix(r.GetError(), "tenant: held: 3 leases") {
			full++
		}
	}
	if granted := names - full; granted < 3 || granted > 2*3 {
		t.Errorf("%d were granted, want 3 on each of two nodes at most", granted)
	}
	f.settledQuota()
}

// settledQuota wants the nodes to count what a listing shows of each tenant.
func (f *fleet) settledQuota() {
	f.Helper()
	nc := f.connect()
	for _, tenant := range []string{"A", "B"} {
		want := len(f.page(nc, "holdfast.list", fmt.Sprintf(`{"limit":1000,"tenant":%q}`, tenant)).GetLeases())
		stand.Eventually(f, "the leases of "+tenant+" are counted", func() bool {
			held := int64(0)
			for _, p := range f.nodes {
				for _, x := range p.Figures().Tenants {
					if x.Name == tenant {
						held += x.Held
					}
				}
			}
			return held == int64(want)
		})
	}
}

func (f *fleet) page(nc *nats.Conn, subject, body string) *messages.ListReply {
	f.Helper()
	m, err := nc.Request(subject, []byte(body), patience)
	if err != nil {
		f.Fatal(err)
	}
	r := &messages.ListReply{}
	if err := messages.DecodeReply(messages.JSON, m.Data, r); err != nil {
		f.Fatalf("%s with %s: %v: %s", subject, body, err, m.Data)
	}
	return r
}
