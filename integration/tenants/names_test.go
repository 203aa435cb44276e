package tenants

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/actors/node/identity"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages"
)

const session = "0123456789abcdef"

// A name is another resource in each tenant and in none, and so is a session. The answers do not show which tenant
// there is.
func TestNames(t *testing.T) {
	t.Parallel()
	s := start(t, node.TenantLimits{})
	none, a, b := s.operator(""), s.as(first), s.as(second)
	for i, c := range []*client{none, a, b, s.operator(second)} {
		owner := fmt.Sprint("o", i)
		if i == 3 { // an operator is in the namespace of the tenant
			c.want(messages.Status_HELD, messages.OpAcquire, "name", `{"owner":"x","ttl_ms":60000}`)
			continue
		}
		if l := c.acquire("name", owner).GetLease(); l.GetToken() != 1 || l.GetResource() != "name" || l.GetTenant() != "" {
			t.Errorf("%s: got %v, want the first lease of the name", c.account, l)
		}
	}
	if l := a.want(messages.Status_HELD, messages.OpGet, "name", "").GetLease(); l.GetOwner() != "o1" || l.GetResource() != "name" {
		t.Errorf("got %v, want the lease of o1", l)
	}
	a.want(messages.Status_NOT_OWNER, messages.OpRelease, "name", `{"owner":"o2","token":"1"}`)
	a.want(messages.Status_RELEASED, messages.OpRelease, "name", `{"owner":"o1","token":"1"}`)
	b.want(messages.Status_HELD, messages.OpGet, "name", "")
	if l := a.want(messages.Status_FREE, messages.OpGet, "name", "").GetLease(); l.GetToken() != 1 || l.GetResource() != "name" {
		t.Errorf("got %v, want the last token of the name", l)
	}
	// The end of a session ends the leases of the tenant's session only, in all shards.
	for _, c := range []*client{none, a, b} {
		for _, key := range []string{"s1", "s2", "s3"} {
			r := c.want(messages.Status_GRANTED, messages.OpAcquire, key,
				fmt.Sprintf(`{"owner":"o","ttl_ms":60000,"session":%q}`, session))
			if want := messages.SessionLabel(messages.SessionHash(session)); r.GetLease().GetSession() != want {
				t.Errorf("%s: the label is %s, want %s", c.account, r.GetLease().GetSession(), want)
			}
		}
	}
	if r := a.want(messages.Status_EXTENDED, messages.OpKeep, session, `{"ttl_ms":60000}`); r.GetHeld() != 3 {
		t.Errorf("a session has %d leases, want 3", r.GetHeld())
	}
	a.want(messages.Status_RELEASED, messages.OpEnd, session, "")
	a.want(messages.Status_NOT_HELD, messages.OpKeep, session, `{"ttl_ms":60000}`)
	for _, c := range []*client{none, b} {
		c.want(messages.Status_EXTENDED, messages.OpKeep, session, `{"ttl_ms":60000}`)
		c.want(messages.Status_HELD, messages.OpGet, "s1", "")
	}
	// A lease is taken into a session of its tenant.
	a.acquire("lone", "o")
	a.want(messages.Status_EXTENDED, messages.OpExtend, "lone",
		fmt.Sprintf(`{"owner":"o","token":"1","ttl_ms":60000,"session":%q}`, session))
	a.want(messages.Status_EXTENDED, messages.OpKeep, session, `{"ttl_ms":60000}`)
	b.want(messages.Status_RELEASED, messages.OpEnd, session, "")
	a.want(messages.Status_HELD, messages.OpGet, "lone", "")
}

// A waiter is granted its lock. If one in the account of the nodes is gone, the grant is taken back for the next one,
// in its own tenant. NATS does not report one that is gone behind an import.
func TestWaiters(t *testing.T) {
	t.Parallel()
	s := start(t, node.TenantLimits{})
	a, b, gone := s.as(first), s.as(second), s.operator(first)
	for _, c := range []*client{a, b} {
		c.acquire("name", "o")
	}
	gone.queue("name", "gone", 1)
	there, other := a.queue("name", "there", 2), b.queue("name", "other", 1)
	stand.Disconnect(t, gone.Conn, s.operator("").Conn)
	for _, c := range []*client{a, b} {
		c.want(messages.Status_RELEASED, messages.OpRelease, "name", `{"owner":"o"}`)
	}
	if r := a.next(there); r.GetStatus() != messages.Status_GRANTED || r.GetLease().GetToken() != 3 {
		t.Errorf("got %v, want the token 3 behind one that was taken back", r)
	}
	if r := b.next(other); r.GetStatus() != messages.Status_GRANTED || r.GetLease().GetToken() != 2 {
		t.Errorf("got %v, want the token 2", r)
	}
	b.want(messages.Status_HELD, messages.OpGet, "name", "")
}

// queue sends a request that waits, as the n-th one.
func (c *client) queue(key, owner string, n uint32) *nats.Subscription {
	c.Helper()
	inbox := nats.NewInbox()
	sub, err := c.SubscribeSync(inbox)
	if err == nil {
		err = c.PublishRequest(c.prefix.Operation(messages.OpAcquire, key), inbox,
			[]byte(fmt.Sprintf(`{"owner":%q,"ttl_ms":60000,"wait_ms":60000}`, owner)))
	}
	if err != nil {
		c.Fatal(err)
	}
	stand.Eventually(c, fmt.Sprintf("%d requests wait", n),
		func() bool { return c.ask(messages.OpGet, key, "").GetWaiting() == n })
	return sub
}

// next returns the next answer.
func (c *client) next(sub *nats.Subscription) *messages.Reply {
	c.Helper()
	m, err := sub.NextMsg(patience)
	if err != nil {
		c.Fatal(err)
	}
	c.wantHidden(m)
	r := &messages.Reply{}
	if err := messages.DecodeReply(messages.JSON, m.Data, r); err != nil {
		c.Fatal(err)
	}
	return r
}

// No error shows an account, or how a resource of a tenant is named in the service.
func TestErrorsHideTheTenant(t *testing.T) {
	t.Parallel()
	s := start(t, node.TenantLimits{}, func(c *server.Config) { c.Tuning.MaxWaiting = 1 })
	a := s.as(first)
	for op, body := range map[messages.Operation]string{
		messages.OpAcquire: `{"owner":"","ttl_ms":60000}`, messages.OpRelease: `{}`,
		messages.OpExtend: `{"owner":"o","ttl_ms":1}`,
		messages.OpGet:    `{"x":1}`, messages.OpBreak: `{}`, messages.OpConfirm: `{}`, messages.OpKeep: `{}`,
		messages.OpEnd: `{"x":1}`,
		messages.OpSet: `{"owner":""}`,
	} {
		key := "a"
		if op.OfSession() {
			key = session
		}
		a.want(messages.Status_INVALID, op, key, body)
		a.want(messages.Status_INVALID, op, "=1FX=1Fa", "")
		// A direct subject of the wrong shard, for one of the two.
		for shard := range uint32(2) {
			a.send(a.prefix.Direct(messages.Shard{Number: shard}, op, key), body)
		}
	}
	a.send(a.prefix.List(), `{"limit":5000}`)
	for _, body := range []string{
		`{"tenant":"*"}`, `{"tenant":"X"}`, `{"tenant":"x y"}`,
		fmt.Sprintf(`{"after":"%s"}`, `\u001fX\u001fa`),
	} {
		if r := (&messages.Reply{}); messages.DecodeReply(messages.JSON, a.send(a.prefix.List(), body).Data,
			r) != nil || r.GetStatus() != messages.Status_INVALID {
			t.Errorf("list with %s is not refused: %v", body, r)
		}
	}
	if answer := a.send(a.prefix.Batch(messages.Shard{Number: 0}), `{"calls":[{"id":"1","key":"a","get":{}}]}`); !strings.Contains(string(answer.Data), "INVALID") {
		t.Errorf("a batch through an import: got %s", answer.Data)
	}
	// A queue that is full names the resource.
	a.acquire("full", "o")
	if err := a.PublishRequest(a.prefix.Operation(messages.OpAcquire, "full"), nats.NewInbox(),
		[]byte(`{"owner":"w","ttl_ms":60000,"wait_ms":60000}`)); err != nil {
		t.Fatal(err)
	}
	stand.Eventually(t, "one request waits", func() bool { return a.ask(messages.OpGet, "full", "").GetWaiting() == 1 })
	r := a.want(messages.Status_OVERLOADED, messages.OpAcquire, "full", `{"owner":"o2","ttl_ms":60000,"wait_ms":60000}`)
	if !strings.HasPrefix(r.GetError(), `resource "full": 1 requests wait already`) {
		t.Errorf("the refusal is %q", r.GetError())
	}
}

// An account that is no tenant has no responder. No account reaches the resources of another, or those of no tenant.
func TestAccountsAreApart(t *testing.T) {
	t.Parallel()
	s := start(t, node.TenantLimits{})
	a, other := s.as(first), s.as(stranger)
	s.operator(second).acquire("held", "o")
	s.operator("").acquire("held", "o")
	if _, err := other.Request("holdfast.get.held", nil, patience); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("an account that is no tenant: %v, want no responders", err)
	}
	a.want(messages.Status_FREE, messages.OpGet, "held", "")
	for _, subject := range []string{
		"holdfast.tenant." + second + ".get.held",   // through the import it is below the prefix of the first, too
		"holdfast.tenant." + first + ".get.held",    // so is its own
		"holdfast.node.~door.1.get.held",            // and the subjects of nodes
		"holdfast.nothing.held", "holdfast.acquire", // and others
	} {
		if answer, err := a.Request(subject, nil, patience); !errors.Is(err, nats.ErrNoResponders) {
			t.Errorf("%s: got %v and %v, want no responders", subject, answer, err)
		}
	}
	// The header with which nodes forward requests says nothing where clients send it.
	m := &nats.Msg{Subject: "holdfast.get.held", Header: nats.Header{"Holdfast-Tenant": {second}}}
	answer, err := a.RequestMsg(m, patience)
	if err != nil || !strings.Contains(string(answer.Data), "FREE") {
		t.Errorf("with a forged header: got %v, %v, want FREE", answer, err)
	}
	if features := a.info().GetFeatures(); !slices.Contains(features, messages.FeatureTenants) ||
		slices.Contains(features, messages.FeatureBatch) {
		t.Errorf("the features are %q", features)
	}
}

// NATS refuses a configuration in which an account imports the prefix of another.
func TestImportOfAnotherTenant(t *testing.T) {
	t.Parallel()
	for name, forged := range map[string]string{
		"service": `{ service: { account: NODES, subject: "holdfast.tenant.` + second + `.>" }, to: "other.>" }`,
		"stream": `{ stream: { account: NODES, subject: "holdfast.tenant.` + second +
			`.event.>" }, to: "other.event.>" }`,
		"all":   `{ stream: { account: NODES, subject: "holdfast.tenant.*.event.>" } }`,
		"plain": `{ service: { account: NODES, subject: "holdfast.get.>" } }`,
	} {
		config := strings.Replace(accounts(false), "imports: [", "imports: [ "+forged+"\n", 1)
		n, err := embedded.Start(embedded.Config{
			Name: "nats", ConfigFile: stand.NATSConfig(t, config), Log: slog.New(slog.DiscardHandler),
		})
		if err == nil {
			n.Shutdown()
			t.Errorf("%s: the server takes an import of another tenant", name)
		}
	}
}

// The owner may be verified within a tenant.
func TestIdentity(t *testing.T) {
	t.Parallel()
	for mode, want := range map[identity.Mode]string{identity.Account: first, identity.User: "of-" + first} {
		s := start(t, node.TenantLimits{}, func(c *server.Config) {
			c.Identity = mode
			config := strings.Replace(accounts(mode == identity.User), "users: [",
				"users: [ { nkey: UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4 }\n", 1)
			c.Embedded = embedded.Config{ConfigFile: stand.NATSConfig(t, config)}
		})
		c := s.as(first)
		c.account = "" // the identity is theirs to see
		if l := c.want(messages.Status_GRANTED, messages.OpAcquire, "a", `{"ttl_ms":60000}`).GetLease(); l.GetOwner() != want || l.GetIdentity() != want {
			t.Errorf("got %v, want a lease of %s", l, want)
		}
		c.want(messages.Status_INVALID, messages.OpAcquire, "b", `{"owner":"x","ttl_ms":60000}`)
		s.as(second).want(messages.Status_FREE, messages.OpGet, "a", "")
	}
}
