package page_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/page"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// startWithTenants returns a page on a node with two tenants, and a client for each.
func startWithTenants(t *testing.T, cfg page.Config) (s *site, orders, billing *holdfast.Client) {
	t.Helper()
	s = startOn(t, cfg, stand.Config{Tenants: map[string]node.TenantLimits{"ORDERS": {}, "BILLING": {}}})
	of := func(tenant string) *holdfast.Client {
		return stand.Client(t, stand.Dial(t, s.node.URL()), holdfast.Tenant(tenant))
	}
	return s, of("ORDERS"), of("BILLING")
}

func (s *site) lockOf(c *holdfast.Client, resource string, opts ...holdfast.AcquireOption) *holdfast.Lock {
	s.Helper()
	l, err := c.TryAcquire(s.Context(), resource, opts...)
	if err != nil {
		s.Fatal(err)
	}
	return l
}

// lockInSession acquires a lock in the session that has the same id in all tenants.
func (s *site) lockInSession(p messages.Prefix, owner string) {
	s.Helper()
	request := fmt.Sprintf(`{"owner":%q,"ttl_ms":600000,"session":"a session of all tenants"}`, owner)
	m, err := s.node.Connect().Request(p.Operation(messages.OpAcquire, "s"), []byte(request), time.Minute)
	if err != nil || !strings.Contains(string(m.Data), "GRANTED") {
		s.Fatalf("%v: %s", err, m.Data)
	}
}

// lacks fails the test if the view has one of the texts.
func (s *site) lacks(path string, texts ...string) {
	s.Helper()
	body := s.want(path, http.StatusOK)
	for _, text := range texts {
		if strings.Contains(body, text) {
			s.Errorf("%s: %q is in\n%s", path, text, body)
		}
	}
}

// The views show all tenants, and those that were chosen, and tell locks of one name apart.
func TestViewsOfTenants(t *testing.T) {
	t.Parallel()
	s, orders, billing := startWithTenants(t, page.Config{})
	s.lock("a", holdfast.Owner("of-none"))
	s.lockOf(orders, "a", holdfast.Owner("of-orders"))
	s.lockOf(billing, "a", holdfast.Owner("of-billing"))
	s.lockOf(billing, "b", holdfast.Owner("of-billing"))
	filter := func(value string) string { return `name="tenant" value="` + value + `"` }
	const link = `<a href="lock?name=a&amp;tenant=ORDERS" title="a">a</a></th><td>ORDERS</td>`

	s.want("/locks", 200, "4 leases are shown.", filter("*"), `<th scope="col">Tenant</th>`, link,
		`<a href="lock?name=a" title="a">a</a></th><td>–</td>`)
	s.want("/locks?tenant=*&pattern=a", 200, "3 leases are shown.", "of-none", "of-orders", "of-billing")
	s.want("/locks?tenant=BILLING", 200, "2 leases are shown.", filter("BILLING"), "of-billing")
	s.lacks("/locks?tenant=BILLING", "of-none", "of-orders")
	s.want("/locks?tenant=", 200, "1 lease is shown.", filter(""), "of-none")
	s.want("/locks?tenant=NONE", 200, "No lock of this selection is held.")
	s.want("/locks?tenant=A.B", 400, "tenant", filter("A.B"))

	s.lockInSession(messages.DefaultPrefix, "in-session-of-none")
	s.lockInSession(messages.DefaultPrefix.Tenant("ORDERS"), "in-session-of-orders")
	s.lockInSession(messages.DefaultPrefix.Tenant("BILLING"), "in-session-of-billing")
	s.want("/sessions", 200, "3 sessions are shown.", `</th><td>ORDERS</td><td>in-session-of-orders</td>`,
		`<a href="lock?name=s&amp;tenant=BILLING" title="s">s</a>`)
	s.want("/sessions?tenant=ORDERS", 200, "1 session is shown.", "in-session-of-orders")

	s.eventually("/lock?name=a&tenant=ORDERS", "<title>a of tenant ORDERS – Lock – Holdfast</title>",
		`<span class="name">a</span> of tenant <span class="name">ORDERS</span>`, "The lock is held.", "of-orders",
		"<td>acquired</td>")
	s.lacks("/lock?name=a&tenant=ORDERS", "of-billing", "of-none")
	s.lacks("/lock?name=a", "of-billing", "of-orders", "of tenant")
	s.want("/lock?name=b&tenant=ORDERS", 200, "The lock is free.")
	s.want("/lock?name=a&tenant=A.B", 400, "tenant")

	s.eventually("/events", "7 changes are shown.", filter("*"), `<th scope="col">Tenant</th>`, link)
	s.eventually("/events?tenant=BILLING", "3 changes are shown.", "of-billing")
	s.lacks("/events?tenant=BILLING", "of-orders", "of-none")

	all, some := s.open("/stream/events"), s.open("/stream/events?tenant=BILLING")
	view := s.open("/stream/lock?name=c&tenant=ORDERS")
	view.until("The lock is free.")
	s.lockOf(orders, "c", holdfast.Owner("of-orders"))
	all.until(`<a href="lock?name=c&amp;tenant=ORDERS" title="c">c</a></th><td>ORDERS</td>`)
	view.until("The lock is held.")
	s.lockOf(billing, "c", holdfast.Owner("of-billing"))
	if e := some.until("name=c"); strings.Contains(e.data, "ORDERS") {
		t.Errorf("the events of another tenant: %s", e.data)
	}
}

// The pages of the listing of all tenants have each lock once, though each name is there twice.
func TestPagesOfTenants(t *testing.T) {
	t.Parallel()
	s, orders, _ := startWithTenants(t, page.Config{})
	const names = 130
	for i := range names {
		name := "many." + strings.Repeat("x", i)
		s.lock(name)
		s.lockOf(orders, name)
	}
	seen, next, pages := make(map[string]bool), "./locks", 0
	for ; next != "" && pages < 10; pages++ {
		body := s.want("/"+strings.TrimPrefix(strings.TrimPrefix(next, "."), "/"), 200)
		for _, row := range rowLinks.FindAllStringSubmatch(body, -1) {
			if seen[row[1]] {
				t.Errorf("%s is there twice", row[1])
			}
			seen[row[1]] = true
		}
		next = nextPage(body)
	}
	if len(seen) != 2*names || pages != 3 {
		t.Errorf("%d locks on %d pages, want %d", len(seen), pages, 2*names)
	}
}

// A lease of a tenant is broken in its namespace, and the lock of the same name elsewhere stays.
func TestBreakOfATenant(t *testing.T) {
	t.Parallel()
	s, orders, billing := startWithTenants(t, page.Config{Actions: true})
	s.lockOf(orders, "a")
	s.lockOf(billing, "a")
	s.want("/lock?name=a&tenant=ORDERS", 200, `<input type="hidden" name="tenant" value="ORDERS">`)
	send := func(form url.Values) answer {
		r := s.request(http.MethodPost, "/break", strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return s.do(r)
	}
	form := url.Values{"name": {"a"}, "tenant": {"ORDERS"}, "token": {"1"}, "by": {"anna"},
		"reason": {"it hangs"}}
	if got := send(form); got.code != http.StatusSeeOther ||
		got.header.Get("Location") != "lock?name=a&tenant=ORDERS&broken=1" {
		t.Fatalf("%d, to %q: %s", got.code, got.header.Get("Location"), got.body)
	}
	s.eventually("/lock?name=a&tenant=ORDERS&broken=1", "The lock is free.", "The lease with token 1 is broken.")
	s.want("/lock?name=a&tenant=BILLING", 200, "The lock is held.")
	form.Set("tenant", "A.B")
	s.check("no tenant", send(form), http.StatusBadRequest, "tenant")
}
