package deadlock

import (
	"testing"

	"github.com/holdfast-io/holdfast/messages"
)

// What came after the moment, or is another lease, does not confirm a cycle.
func TestSecondLook(t *testing.T) {
	c := Contended{Resource: "r", Leases: []*messages.Lease{{Owner: "a", Token: 1}, {Owner: "b", Token: 2}}}
	then := c.at(&messages.Reply{
		Holders: []*messages.Lease{{Owner: "a", Token: 3}, {Owner: "b", Token: 2}},
		Waiters: []*messages.Waiter{{Owner: "c", WaitingMs: 250}, {Owner: "d", WaitingMs: 249}},
	}, 250_900_000)
	if len(then.Leases) != 1 || then.Leases[0].GetOwner() != "b" || len(then.Waiters) != 1 ||
		then.Waiters[0].GetOwner() != "c" {
		t.Errorf("confirmed %v", then)
	}
}

// Owners of one name in two tenants are two owners.
func TestTenantsHaveNoCycleInCommon(t *testing.T) {
	a, b := contendedOf(t, "r: a < b"), contendedOf(t, "s: b < a")
	for _, test := range []struct{ ofA, ofB, want string }{
		{"", "", "a s b r"}, {"X", "X", "a s b r"}, {"X", "Y", ""}, {"", "Y", ""},
	} {
		a.Tenant, b.Tenant = test.ofA, test.ofB
		found, err := Find([]Contended{a, b}, func(tenant, resource string) (*messages.Reply, error) {
			for _, c := range []Contended{a, b} {
				if c.Tenant == tenant && c.Resource == resource {
					for _, w := range c.Waiters {
						w.WaitingMs = 60_000
					}
					return &messages.Reply{Holders: c.Leases, Waiters: c.Waiters}, nil
				}
			}
			t.Fatalf("%q of %q was looked at", resource, tenant)
			return nil, nil
		})
		got := ""
		for _, c := range found {
			got += c.short()
			if c[0].Tenant != test.ofA {
				t.Errorf("the cycle is of tenant %q", c[0].Tenant)
			}
		}
		if err != nil || got != test.want {
			t.Errorf("%q and %q: found %q, wanted %q (%v)", test.ofA, test.ofB, got, test.want, err)
		}
	}
}
