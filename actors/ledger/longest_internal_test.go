package ledger

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// aged is a ledger with a list of when the leases were granted that its resources have.
type aged struct {
	*Ledger
	testing.TB
	granted map[string]int64
}

// change commits changes of resources: those of which granted has no time are released.
func (a *aged) change(granted map[string]int64) {
	r := commit(a.Head().Number+1, 1)
	r.GetCommit().Opened = a.Head().Number == 0
	for resource, at := range granted {
		g := &journal.Grant{Resource: resource, Owner: "o", Token: 1, TtlMs: 1000, AcquiredAtMs: at}
		kind := messages.Event_ACQUIRED
		if at == 0 {
			kind, g.AcquiredAtMs = messages.Event_RELEASED, a.granted[resource]
			delete(a.granted, resource)
		} else {
			a.granted[resource] = at
		}
		r.GetCommit().Changes = append(r.GetCommit().Changes, &journal.Change{Kind: kind, Grant: g})
	}
	if err := a.Read(a.Head().Position+1, r, never); err != nil {
		a.Fatal(err)
	}
}

// first returns the resources whose leases were granted first, of all that a pattern selects.
func (a *aged) first(pattern messages.Pattern, limit int) (all []string) {
	for resource := range a.granted {
		if pattern.Matches(resource) {
			all = append(all, resource)
		}
	}
	slices.SortFunc(all, func(x, y string) int {
		return cmp.Or(cmp.Compare(a.granted[x], a.granted[y]), cmp.Compare(x, y))
	})
	return all[:min(len(all), limit)]
}

// rank checks a ranking, during which between is called.
func (a *aged) rank(pattern string, limit int, between func()) {
	a.Helper()
	q := Query{Limit: limit, Bytes: 1 << 20}
	q.Pattern, _ = messages.ParsePattern(pattern)
	want := a.first(q.Pattern, limit)
	s, steps := NewLongest(q), 1
	for ; !s.Step(a.Ledger, lease.NewSessions(1), 0, nil); steps++ {
		between()
	}
	var got []string
	for _, l := range s.Result().Leases {
		got = append(got, l.GetResource())
	}
	if !slices.Equal(got, want) {
		a.Errorf("of %s the first %d, in %d steps:\n%q\nwant\n%q", pattern, limit, steps, got, want)
	}
}

// A ranking has the leases that were granted first, whatever its pages have had before, and whatever is granted
// meanwhile.
func TestLongest(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	a := &aged{New(), t, map[string]int64{}}
	n := 0
	grant := func(more int, at func() int64) {
		changes := map[string]int64{}
		for ; len(changes) < more; n++ {
			changes[fmt.Sprintf("of%d.%d", n%7, n)] = at()
		}
		a.change(changes)
	}
	all := func() {
		for _, limit := range []int{0, 1, 10, 100, 1000} {
			a.rank(">", limit, func() {})
			a.rank("of3.*", limit, func() {})
		}
	}
	for range 30 {
		grant(500, func() int64 { return 1 + random.Int64N(10_000) })
	}
	a.Restart(lease.Time{}, func(string, *lease.Image) {})
	all()
	for range 5 { // the pages had older ones
		changes := map[string]int64{}
		for _, resource := range a.first(messages.Pattern{}, 300) {
			changes[resource] = 0
		}
		a.change(changes)
		all()
		grant(100, func() int64 { return 1 + random.Int64N(10_000) })
		all()
	}
	for i := range 100 {
		resource := fmt.Sprint("of3.memory", i)
		a.granted[resource] = 1 + random.Int64N(200)
		a.SetEphemeral(resource, []lease.Lease{{How: messages.Event_ACQUIRED, Grant: &journal.Grant{
			Resource: resource, Token: 1, AcquiredAtMs: a.granted[resource]}}})
	}
	all()
	pages := len(a.spans())
	a.rank("of3.*", 1000, func() { grant(1000, func() int64 { return 20_000 }) })
	if len(a.spans()) < 2*pages {
		t.Errorf("%d pages became %d: too few were split", pages, len(a.spans()))
	}
	all()
}

// BenchmarkLongest is how long a ranking of a million leases takes, and one of its steps.
func BenchmarkLongest(b *testing.B) {
	l := heldLedger(1_000_000)
	for _, limit := range []int{10, 100, 1000} {
		for _, pattern := range []string{">", "orders.7.*", "none"} {
			b.Run(fmt.Sprintf("first=%d/of=%s", limit, pattern), func(b *testing.B) {
				q := Query{Limit: limit, Bytes: 1 << 20}
				q.Pattern, _ = messages.ParsePattern(pattern)
				steps := 0
				for b.Loop() {
					s := NewLongest(q)
					for done := false; !done; steps++ {
						done = s.Step(l, lease.NewSessions(1), 0, nil)
					}
					if pattern != "none" && len(s.Result().Leases) != limit {
						b.Fatal(len(s.Result().Leases))
					}
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(steps), "µs/step")
			})
		}
	}
}

// heldLedger is a ledger of that many leases that are held, each granted a millisecond after the one before.
func heldLedger(resources int) *Ledger {
	var changes []*journal.Change
	for i := range resources {
		changes = append(changes, &journal.Change{Kind: messages.Event_ACQUIRED, Grant: &journal.Grant{
			Resource: fmt.Sprintf("orders.%d.%d", i%100, i), Owner: fmt.Sprintf("worker-%d@host", i%1000), Token: 1,
			TtlMs: 30_000, AcquiredAtMs: 1_700_000_000_000 + int64(i), RequestId: fmt.Sprintf("01JB2Y8K3M6N%014d", i),
		}})
	}
	return replayed(changes)
}
