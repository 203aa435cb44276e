package watch

import (
	"slices"
	"testing"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// namesakes are resources of two tenants, and of none.
var namesakes = []string{
	"orders.1", messages.Qualify("A", "orders.1"), messages.Qualify("B", "orders.1"), messages.Qualify("B", "other"),
	messages.Qualify("B", "orders.2"),
}

// The pattern and the tenant select alike what is held and what changes, and what is yielded has the name without the
// tenant.
func TestSelection(t *testing.T) {
	for _, test := range []struct {
		pattern, tenant string
		want            []string
	}{
		{"orders.*", "", []string{" orders.1"}},
		{"orders.1", "", []string{" orders.1"}},
		{"orders.*", "B", []string{"B orders.1", "B orders.2"}},
		{"orders.1", messages.AllTenants, []string{" orders.1", "A orders.1", "B orders.1"}},
		{">", messages.AllTenants, []string{" orders.1", "A orders.1", "B orders.1", "B orders.2", "B other"}},
		{">", "C", nil},
	} {
		pattern, err := messages.ParsePattern(test.pattern)
		if err != nil {
			t.Fatal(err)
		}
		selected := Selection{Pattern: pattern, Tenant: test.tenant}

		h := newHolders()
		h.selection = selected
		h.mustTake(t, pageOf(0, 0, namesakes[:3]...), commitOf(7, messages.Event_ACQUIRED, namesakes[3]),
			commitOf(8, messages.Event_ACQUIRED, namesakes[4]))
		var held []string
		for _, g := range h.grants() {
			tenant, name := messages.Unqualify(g.GetResource())
			held = append(held, tenant+" "+name)
		}
		if !slices.Equal(held, test.want) {
			t.Errorf("%q of %q: %q are held, want %q", test.pattern, test.tenant, held, test.want)
		}

		c := &journal.Commit{Number: 1}
		for _, name := range namesakes {
			c.Changes = append(c.Changes, commitOf(1, messages.Event_ACQUIRED, name).GetCommit().GetChanges()...)
		}
		var changed []string
		l := &Loop{
			options: Options{Selection: selected},
			at:      Position{cursors: []Cursor{{}}}, generation: &generation{closed: make([]*journal.Closed, 1)},
			yield: func(s Step) bool {
				changed = append(changed, s.Change.GetLease().GetTenant()+" "+s.Change.GetLease().GetResource())
				return true
			},
		}
		if err := l.take(arrival{commit: stored{c, 1}}); err != nil {
			t.Fatal(err)
		}
		slices.Sort(changed)
		if want := slices.Sorted(slices.Values(test.want)); !slices.Equal(changed, want) {
			t.Errorf("%q of %q: %q have changed, want %q", test.pattern, test.tenant, changed, want)
		}
	}
}
