package node

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// What a tenant does not set is that of the node. Limits that change concern the same tenant, whose counts stay.
func TestTenantLimits(t *testing.T) { synctest.Test(t, testTenantLimits) }

func testTenantLimits(t *testing.T) {
	g := newGate(Capacity{Held: 3, Waiting: 4, Rate: 1000, Pending: 32})
	own, changed := messages.DefaultLimits(), messages.DefaultLimits()
	all := newTenants(Config{Limits: own, Shards: 4}, g)
	added, removed, old := all.set(map[string]TenantLimits{"A": {},
		"B": {Held: 1, Waiting: 2, Rate: 100, Limits: changed}})
	if len(added) != 2 || removed != nil || old != nil {
		t.Fatalf("added %d, removed %v, no longer in force %v", len(added), removed, old)
	}
	a, b := all.of("A"), all.of("B")
	if l := a.allowed.Load(); l.Held != 3 || l.Waiting != 4 || l.Rate != 1000 || l.Limits != own || l.pending != 2 {
		t.Errorf("A: %+v", l)
	}
	if l := b.allowed.Load(); l.Held != 1 || l.Waiting != 2 || l.Rate != 100 || all.limitsOf(b) != changed {
		t.Errorf("B: %+v", l)
	}
	for i := range minBurst {
		if err := b.enter(); err != nil {
			t.Errorf("request %d of B: %v", i, err)
		}
	}
	refusal := b.enter()
	if err := a.enter(); !errors.Is(refusal, errRate) || err != nil {
		t.Errorf("B: %v, A: %v, want a refusal of B alone", refusal, err)
	}
	added, removed, old = all.set(map[string]TenantLimits{"B": {Rate: 1_000_000}})
	if added != nil || len(removed) != 1 || removed[0] != a || len(old) != 4 || all.of("A") != nil || all.of("B") != b {
		t.Errorf("added %v, removed %v, no longer in force %v", added, removed, old)
	}
	<-time.After(time.Millisecond)
	if err := b.enter(); err != nil || b.requests.Load() != minBurst+2 {
		t.Errorf("with a higher rate: %v, and %d requests are counted, want %d", err, b.requests.Load(), minBurst+2)
	}
	var none *tenant
	if none.prefix("holdfast") != "holdfast" || all.of("") != nil || all.limitsOf(nil) != own {
		t.Error("requests of no tenant have limits of one")
	}
}

// The number of tenants is bounded, with many shards by their subscriptions.
func TestNumberOfTenants(t *testing.T) {
	for _, test := range []struct {
		count  int
		shards uint32
		ok     bool
	}{{0, 4, true}, {1000, 4, true}, {1001, 4, false}, {1000, 39, true}, {1000, 40, false}, {48, 1024, true},
		{49, 1024, false}} {
		all := newTenants(Config{Shards: test.shards}, newGate(Capacity{}))
		limits := make(map[string]TenantLimits)
		for i := range test.count {
			limits[fmt.Sprint("T", i)] = TenantLimits{}
		}
		if err := all.check(limits); (err == nil) != test.ok {
			t.Errorf("%d tenants with %d shards: %v", test.count, test.shards, err)
		}
	}
}

// A tenant with a low rate can begin with several requests, and none with more than in a second.
func TestBurst(t *testing.T) {
	for rate, want := range map[int]int{1: 1, 19: 19, 21: 20, 1000: 20, 1050: 21, 5000: 100} {
		if got := burst(rate); got != want {
			t.Errorf("%d a second: %d at once, want %d", rate, got, want)
		}
	}
}
