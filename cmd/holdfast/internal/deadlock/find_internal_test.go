package deadlock

import (
	"testing"
	"testing/synctest"
	"time"

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

// A cycle whose requests wait for less time than an answer takes is found by a later look.
func TestSlowLook(t *testing.T) {
	for name, test := range map[string]struct {
		waited, takes time.Duration
		looks         int
		found         bool
	}{
		"Fast":    {100 * time.Millisecond, 10 * time.Millisecond, 2, true},
		"Slow":    {100 * time.Millisecond, 150 * time.Millisecond, 4, true},
		"TooSlow": {0, time.Hour, 2 * maxLooks, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				listed := []Contended{contendedOf(t, "r: a < b"), contendedOf(t, "s: b < a")}
				looks, since := 0, time.Now().Add(-test.waited)
				found, err := Find(listed, func(_, resource string) (*messages.Reply, error) {
					looks++
					c := listed[0]
					if resource == "s" {
						c = listed[1]
					}
					waited := uint32(time.Since(since).Milliseconds())
					if name == "TooSlow" {
						waited = 0 // another request each time
					}
					time.Sleep(test.takes) //nolint:forbidigo // virtual time
					return &messages.Reply{Holders: c.Leases, Waiters: []*messages.Waiter{
						{Owner: c.Waiters[0].GetOwner(), WaitingMs: waited},
					}}, nil
				})
				if err != nil || len(found) > 0 != test.found || looks != test.looks {
					t.Errorf("%d cycles after %d looks, %v", len(found), looks, err)
				}
			})
		})
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
