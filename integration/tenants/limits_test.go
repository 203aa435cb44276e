package tenants

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// within returns limits of requests with these bounds.
func within(minTTL, maxTTL, maxDelay uint32) *messages.Limits {
	l := messages.DefaultLimits()
	l.MinTtlMs, l.MaxTtlMs, l.MaxDelayMs = minTTL, maxTTL, maxDelay
	return l
}

// A tenant has its own limits, which its refusals name. Another has those of the node.
func TestLimits(t *testing.T) {
	t.Parallel()
	s := start(t, node.TenantLimits{Held: 2, Waiting: 1, Limits: within(1000, 70_000, 5000)}, func(c *server.Config) {
		c.Capacity.Held, c.Capacity.Waiting = 4, 3
	})
	a, b := s.as(first), s.as(second)
	if l := a.info().GetLimits(); l.GetMinTtlMs() != 1000 || l.GetMaxTtlMs() != 70_000 || l.GetMaxDelayMs() != 5000 {
		t.Errorf("info of a tenant has %v", l)
	}
	if l := b.info().GetLimits(); l.GetMaxTtlMs() != messages.MaxTTLMillis {
		t.Errorf("info of another has %v", l)
	}
	for _, body := range []string{`{"owner":"o","ttl_ms":999}`, `{"owner":"o","ttl_ms":70001}`,
		`{"owner":"o","ttl_ms":1000,"delay_ms":5001}`} {
		a.want(messages.Status_INVALID, messages.OpAcquire, "ttl", body)
		b.want(messages.Status_GRANTED, messages.OpAcquire, "ttl", body)
		b.want(messages.Status_RELEASED, messages.OpRelease, "ttl", `{"owner":"o"}`)
	}
	// An ephemeral lease counts as any other.
	a.acquire("h1", "o")
	a.want(messages.Status_GRANTED, messages.OpAcquire, "h2", `{"owner":"o","ttl_ms":60000,"durability":"EPHEMERAL"}`)
	overloaded(t, a, `{"owner":"o","ttl_ms":60000}`,
		"tenant: held: 2 leases are held on this node, the most that may (max-held of the tenants file); try later")
	b.acquire("h1", "o")
	b.acquire("h2", "o")
	overloaded(t, b, `{"owner":"o","ttl_ms":60000}`,
		"held: 4 leases are held on this node, the most that may; try later")
	a.want(messages.Status_RELEASED, messages.OpRelease, "h2", `{"owner":"o"}`)
	a.acquire("h3", "o")
	for i, c := range []*client{a, b, b} {
		body := fmt.Sprintf(`{"owner":"w%d","ttl_ms":60000,"wait_ms":60000}`, i)
		if err := c.PublishRequest(c.prefix.Operation(messages.OpAcquire, "h1"), nats.NewInbox(), []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	stand.Eventually(t, "the requests wait", func() bool {
		return a.ask(messages.OpGet, "h1", "").GetWaiting() == 1 && b.ask(messages.OpGet, "h1", "").GetWaiting() == 2
	})
	waiting := func(c *client, want string) {
		t.Helper()
		r := c.want(messages.Status_OVERLOADED, messages.OpAcquire, "h1",
			`{"owner":"w9","ttl_ms":60000,"wait_ms":60000}`)
		if r.GetError() != want {
			t.Errorf("the refusal is %q, want %q", r.GetError(), want)
		}
	}
	waiting(a,
		"tenant: waiting: 1 requests wait on this node, the most that may (max-waiting of the tenants file); try later")
	waiting(b, "waiting: 3 requests wait on this node, the most that may; try later")
	want := []node.TenantFigures{
		{Name: first, Held: 2, MaxHeld: 2, Waiting: 1, MaxWaiting: 1},
		{Name: second, Held: 2, MaxHeld: 4, Waiting: 2, MaxWaiting: 3},
	}
	got := s.Node().Figures().Tenants
	for i := range got {
		if got[i].Requests == 0 || got[i].Refused != 2 && i == 0 {
			t.Errorf("counted: %+v", got[i])
		}
		got[i].Requests, got[i].Refused = 0, 0
	}
	if !slices.Equal(got, want) {
		t.Errorf("counted: %+v, want %+v", got, want)
	}
}

func overloaded(t *testing.T, c *client, body, want string) {
	t.Helper()
	if r := c.want(messages.Status_OVERLOADED, messages.OpAcquire, "more", body); r.GetError() != want {
		t.Errorf("the refusal is %q, want %q", r.GetError(), want)
	}
}

// A tenant that sends faster than it may is refused, and another is not.
func TestRate(t *testing.T) {
	t.Parallel()
	s := start(t, node.TenantLimits{Rate: 1})
	a, b := s.as(first), s.as(second)
	a.want(messages.Status_FREE, messages.OpGet, "a", "")
	stand.Eventually(t, "a request is refused", func() bool {
		r := a.ask(messages.OpGet, "a", "")
		return r.GetStatus() == messages.Status_OVERLOADED &&
			strings.HasPrefix(r.GetError(),
				"rate: 1 requests a second is all that this node takes of the tenant (max-rate of the tenants file)")
	})
	for range 10 {
		b.want(messages.Status_FREE, messages.OpGet, "a", "")
	}
}

// What a tenant holds is counted again by a node that starts, and is another's no more than before.
func TestRestart(t *testing.T) {
	t.Parallel()
	s := start(t, node.TenantLimits{Held: 2})
	a, b := s.as(first), s.as(second)
	a.acquire("x", "a")
	a.acquire("y", "a")
	b.acquire("x", "b")
	b.want(messages.Status_GRANTED, messages.OpAcquire, "in",
		fmt.Sprintf(`{"owner":"b","ttl_ms":60000,"session":%q}`, session))
	s.CrashNode()
	if err := s.StartNode(t.Context()); err != nil {
		t.Fatal(err)
	}
	for c, owner := range map[*client]string{a: "a", b: "b"} {
		if l := c.want(messages.Status_HELD, messages.OpGet, "x", "").GetLease(); l.GetOwner() != owner || l.GetToken() != 1 {
			t.Errorf("got %v, want the first lease, of %s", l, owner)
		}
	}
	a.want(messages.Status_NOT_HELD, messages.OpKeep, session, `{"ttl_ms":60000}`)
	b.want(messages.Status_EXTENDED, messages.OpKeep, session, `{"ttl_ms":60000}`)
	a.want(messages.Status_OVERLOADED, messages.OpAcquire, "z", `{"owner":"a","ttl_ms":60000}`)
	b.acquire("z", "b")
	a.want(messages.Status_RELEASED, messages.OpRelease, "x", `{"owner":"a"}`)
	if l := a.acquire("x", "next").GetLease(); l.GetToken() != 2 {
		t.Errorf("got %v, want the token 2", l)
	}
}

// Tenants come and go while the node runs, and limits change with the next request.
func TestSetTenants(t *testing.T) {
	t.Parallel()
	s := start(t, node.TenantLimits{})
	a, b, c := s.as(first), s.as(second), s.as(stranger)
	a.acquire("kept", "o")
	b.acquire("kept", "o")
	set := func(limits map[string]node.TenantLimits) {
		t.Helper()
		if err := s.Node().SetTenants(limits); err != nil {
			t.Fatal(err)
		}
	}
	set(map[string]node.TenantLimits{second: {Held: 1}, stranger: {}})
	for _, subject := range []string{"holdfast.get.kept", "holdfast.info", "holdfast.list", "holdfast.shard.0.get.kept",
		"holdfast.shard.1.get.kept"} {
		stand.Eventually(t, "a tenant that is removed has no responder on "+subject, func() bool {
			_, err := a.Request(subject, nil, patience)
			return err == nats.ErrNoResponders //nolint:errorlint // it is returned as it is
		})
	}
	b.want(messages.Status_OVERLOADED, messages.OpAcquire, "more", `{"owner":"o","ttl_ms":60000}`)
	c.acquire("kept", "o")
	for name, limits := range map[string]map[string]node.TenantLimits{"a name": {"a.b": {}},
		"a number": many(node.MaxTenants + 1)} {
		if err := s.Node().SetTenants(limits); err == nil || !strings.HasPrefix(err.Error(), "tenant") {
			t.Errorf("%s is not refused: %v", name, err)
		}
	}
	b.want(messages.Status_OVERLOADED, messages.OpAcquire, "more", `{"owner":"o","ttl_ms":60000}`)
	c.want(messages.Status_HELD, messages.OpGet, "kept", "")
	set(map[string]node.TenantLimits{first: {Held: 1}, second: {}})
	b.acquire("more", "o")
	a.want(messages.Status_HELD, messages.OpGet, "kept", "")
	a.want(messages.Status_OVERLOADED, messages.OpAcquire, "more", `{"owner":"o","ttl_ms":60000}`)
	set(nil)
}

func many(n int) map[string]node.TenantLimits {
	all := make(map[string]node.TenantLimits)
	for i := range n {
		all[fmt.Sprint("T", i)] = node.TenantLimits{}
	}
	return all
}
