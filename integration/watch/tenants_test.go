package watch_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// startTenants starts a stand with the tenants A and B, and returns a client of no tenant and one of each.
func startTenants(t *testing.T) (s *stand.Stand, own, a, b *holdfast.Client) {
	t.Helper()
	s = stand.Start(t, stand.Config{Tenants: map[string]node.TenantLimits{"A": {}, "B": {}}})
	return s, s.Client(), s.Client(holdfast.Tenant("A")), s.Client(holdfast.Tenant("B"))
}

// take takes a lock that is not renewed.
func take(t *testing.T, c *holdfast.Client, resource string) *holdfast.Lock {
	t.Helper()
	return stand.Value(c.TryAcquire(t.Context(), resource, holdfast.NoRenewal(), holdfast.TTL(time.Hour)))(t)
}

// changesOf returns what a watch yields up to the present end of the journals, each as its kind, tenant and resource,
// sorted, and the position behind it.
func changesOf(t *testing.T, c *holdfast.Client, pattern string, opts ...holdfast.WatchOption) (follow []string,
	at holdfast.Position) {
	t.Helper()
	for e, err := range c.Watch(t.Context(), pattern, append(opts, holdfast.UntilNow())...) {
		if err != nil {
			t.Fatal(err)
		}
		if at = e.Position(); e.Kind != holdfast.EventBookmark {
			follow = append(follow, fmt.Sprintf("%s %s/%s", e.Kind, e.Lease.Tenant, e.Lease.Resource))
		}
	}
	slices.Sort(follow)
	return follow, at
}

func wantTold(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A watch shows the resources of no tenant, unless an option of it or of the client says otherwise; its position is
// one of all tenants.
func TestWatchOfTenants(t *testing.T) {
	t.Parallel()
	s, own, a, b := startTenants(t)
	take(t, own, "r.1")
	first := take(t, a, "r.1")
	take(t, b, "r.1")
	take(t, b, "other")
	since := holdfast.Since(time.Time{})

	got, at := changesOf(t, own, "r.*", since)
	wantTold(t, got, "ACQUIRED /r.1")
	got, _ = changesOf(t, own, "r.1", since, holdfast.OfTenant("B"))
	wantTold(t, got, "ACQUIRED B/r.1")
	got, _ = changesOf(t, own, ">", since, holdfast.OfTenant("*"))
	wantTold(t, got, "ACQUIRED /r.1", "ACQUIRED A/r.1", "ACQUIRED B/other", "ACQUIRED B/r.1")
	got, _ = changesOf(t, a, ">", since)
	wantTold(t, got, "ACQUIRED A/r.1")
	got, _ = changesOf(t, a, ">", since, holdfast.OfTenant(""))
	wantTold(t, got, "ACQUIRED /r.1")
	got, all := changesOf(t, own, ">", holdfast.Present(), holdfast.OfTenant("*"))
	wantTold(t, got, "PRESENT /r.1", "PRESENT A/r.1", "PRESENT B/other", "PRESENT B/r.1")
	got, _ = changesOf(t, b, ">", holdfast.Present())
	wantTold(t, got, "PRESENT B/other", "PRESENT B/r.1")

	stand.Must(t, first.Release(t.Context()))
	got, _ = changesOf(t, own, ">", holdfast.From(at), holdfast.OfTenant("A"))
	if !slices.Contains(got, "RELEASED A/r.1") || slices.Contains(got, "ACQUIRED B/r.1") {
		t.Errorf("from a position of another selection: %q", got)
	}
	got, _ = changesOf(t, own, ">", holdfast.From(all), holdfast.OfTenant("*"))
	wantTold(t, got, "RELEASED A/r.1")

	for e, err := range own.Watch(t.Context(), ">", holdfast.OfTenant("a.b")) {
		if !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("a name that no tenant has: %v, %v", e, err)
		}
	}
	if _, err := holdfast.New(s.Connect(), holdfast.Tenant("*")); !errors.Is(err, holdfast.ErrInvalid) {
		t.Errorf("a client of all tenants: %v", err)
	}
}

// A client of a tenant has its locks, listings and elections in the namespace of the tenant.
func TestClientOfATenant(t *testing.T) {
	t.Parallel()
	_, own, a, b := startTenants(t)
	stand.Value(a.Campaign(t.Context(), "scheduler", "a's", holdfast.Owner("of-a")))(t)
	stand.Value(b.Campaign(t.Context(), "scheduler", "b's", holdfast.Owner("of-b")))(t)
	for c, want := range map[*holdfast.Client]string{own: "", a: "a's", b: "b's"} {
		leader, err := c.Leader(t.Context(), "scheduler")
		if err != nil || leader.Value != want {
			t.Errorf("%v leads, want %q (%v)", leader, want, err)
		}
		for observed, err := range c.Observe(t.Context(), "scheduler") {
			if err != nil || observed.Value != want {
				t.Errorf("observed %v, want %q (%v)", observed, want, err)
			}
			break
		}
		held := 0
		for l, err := range c.List(t.Context(), "") {
			if held++; err != nil || l.Metadata[messages.MetadataValue] != want || l.Tenant != "" {
				t.Errorf("listed %+v (%v)", l, err)
			}
		}
		if (held > 0) != (want != "") {
			t.Errorf("%d leases are listed", held)
		}
	}
	if err := a.Break(t.Context(), "scheduler", 1, "the test"); err != nil {
		t.Error(err)
	}
	if leader, err := b.Leader(t.Context(), "scheduler"); err != nil || !leader.Leads() {
		t.Errorf("another tenant's leader: %v, %v", leader, err)
	}
}
