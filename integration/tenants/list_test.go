package tenants

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// A tenant lists its own resources. An operator lists those of no tenant, of one, or of all, and learns whose they
// are; the pages have each of them once.
func TestList(t *testing.T) {
	t.Parallel()
	s := start(t, node.TenantLimits{})
	none, a, b := s.operator(""), s.as(first), s.as(second)
	var want []string
	for tenant, c := range map[string]*client{"": none, first: a, second: b} {
		for i := range 7 {
			name := fmt.Sprint("name.", i)
			c.acquire(name, "o")
			want = append(want, tenant+" "+name)
		}
		for range 2 { // of one resource
			c.want(messages.Status_GRANTED, messages.OpAcquire, "shared", `{"owner":"o","ttl_ms":60000,"limit":2}`)
			want = append(want, tenant+" shared")
		}
	}
	slices.Sort(want)
	of := func(tenant string) (own []string) {
		for _, x := range want {
			if x[:len(x)-len("name.0")-1] == tenant {
				own = append(own, x)
			}
		}
		return own
	}
	for _, test := range []struct {
		client       *client
		tenant, want string // as asked, and whose are shown
	}{{none, "", ""}, {none, first, first}, {none, second, second}, {s.operator(second), "", ""}, {a, "", ""},
		{b, "", ""}} {
		got, expected := test.client.pages(test.tenant), of(test.want)
		if !slices.Equal(got, expected) {
			t.Errorf("%s lists %q of %q, want %q", test.client.account, got, test.tenant, expected)
		}
	}
	if got := none.pages(messages.AllTenants); !slices.Equal(got, want) {
		t.Errorf("all: %q, want %q", got, want)
	}
	if got := none.pages("NO-TENANT"); len(got) != 0 {
		t.Errorf("of an account without resources: %q", got)
	}
	// Queues are those of the tenant's resource.
	a.want(messages.Status_TIMEOUT, messages.OpAcquire, "name.1", `{"owner":"w","ttl_ms":60000,"wait_ms":1}`)
	if err := a.PublishRequest("holdfast.acquire.name.1", "_INBOX.x",
		[]byte(`{"owner":"w","ttl_ms":60000,"wait_ms":60000}`)); err != nil {
		t.Fatal(err)
	}
	stand.Eventually(t, "a request waits", func() bool { return a.ask(messages.OpGet, "name.1", "").GetWaiting() == 1 })
	for _, test := range []struct {
		client *client
		body   string
		want   []string
	}{
		{a, `{"waiters":true}`, []string{" name.1"}},
		{b, `{"waiters":true}`, nil},
		{none, `{"waiters":true,"tenant":"*"}`, []string{first + " name.1"}},
		{a, `{"by":"QUEUE"}`, []string{" name.1"}},
		{b, `{"by":"WAIT"}`, nil},
		{none, `{"by":"QUEUE"}`, nil},
		{none, `{"by":"QUEUE","tenant":"*"}`, []string{first + " name.1"}},
		{none, fmt.Sprintf(`{"by":"WAIT","tenant":%q}`, first), []string{first + " name.1"}},
	} {
		var got []string
		for _, q := range test.client.list(test.body).GetQueues() {
			got = append(got, q.GetTenant()+" "+q.GetResource())
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: the queues of %s are %q, want %q", test.client.account, test.body, got, test.want)
		}
	}
}

// pages lists all that there is, two leases at a time, and returns whose each one is.
func (c *client) pages(tenant string) (all []string) {
	c.Helper()
	after := ""
	for {
		body, err := json.Marshal(map[string]any{"limit": 2, "after": after, "tenant": tenant})
		if err != nil {
			c.Fatal(err)
		}
		page := c.list(string(body))
		for _, l := range page.GetLeases() {
			all = append(all, l.GetTenant()+" "+l.GetResource())
		}
		if after = page.GetNext(); after == "" {
			slices.Sort(all)
			return all
		}
	}
}
