package locks

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/messages"
)

func TestTableFitsTheTerminal(t *testing.T) {
	leases := []*messages.Lease{
		{Resource: strings.Repeat("漢", 60), Owner: "me", Token: 7, RemainingMs: 1500},
		{Resource: strings.Repeat("a", 90) + "42", Owner: strings.Repeat("o", 90) + "é", Token: 900_000_000_000_000},
		{Resource: "cafe\u0301", Owner: "\x1b[31mred", RemainingMs: 86_400_000},
	}
	all := &listing{leases: leases, queues: map[cli.Resource]*messages.Queue{
		cli.ResourceOf(leases[2]): {Waiters: make([]*messages.Waiter, 100)}}}
	for columns := 50; columns < 300; columns++ {
		text := all.table(false).Text(columns)
		var widths []int
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0 {
				t.Fatalf("unprintable: %q", line)
			}
			widths = append(widths, display.Width(line))
		}
		if len(widths) != 4 || slices.Max(widths) > columns || slices.Min(widths) != slices.Max(widths) {
			t.Fatalf("on %d columns the lines are %d wide:\n%s", columns, widths, text)
		}
	}
	if text := all.table(false).Text(0); strings.Contains(text, "…") || !strings.Contains(text, " 100+\n") {
		t.Errorf("without a terminal:\n%s", text)
	}
}

// Resources of one name in several tenants are told apart, and the column is there only if a lease is of a tenant.
func TestTableOfTenants(t *testing.T) {
	all := &listing{
		leases: []*messages.Lease{
			{Resource: "orders.1", Tenant: "B", Owner: "b", Token: 2, RemainingMs: 1000},
			{Resource: "orders.1", Owner: "me", Token: 7, RemainingMs: 1000},
			{Resource: "orders.1", Tenant: "A", Owner: "a", Token: 1, RemainingMs: 1000},
		},
		queues: map[cli.Resource]*messages.Queue{
			{Name: "orders.1", Tenant: "A"}: {Waiters: []*messages.Waiter{{Owner: "w", Permits: 1}}}},
	}
	want := `RESOURCE  TENANT  OWNER  KIND       TOKEN  WAITED  LEFT  WAITING
orders.1          me     exclusive      7            1s        0
orders.1  A       a      exclusive      1            1s        1
  waits           w      exclusive            0ms   0ms         
orders.1  B       b      exclusive      2            1s        0
`
	if got := all.table(true).Text(0); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	all.leases = all.leases[1:2]
	if got := all.table(true).Text(0); strings.Contains(got, "TENANT") {
		t.Errorf("without a tenant:\n%s", got)
	}
}

// A ranking is shown in the order of the node, with what it is sorted by behind the resource. A resource that is held
// back has no holder.
func TestTableOfRankings(t *testing.T) {
	queues := []*messages.Queue{
		{Resource: "z", Waiting: 230, OldestMs: 65_000, Waiters: []*messages.Waiter{{Owner: "w", Permits: 1}}},
		{Resource: "back", Waiting: 100, OldestMs: 1500},
	}
	all := &listing{
		leases: []*messages.Lease{{Resource: "z", Owner: "me", Token: 7, RemainingMs: 1000, AcquiredAtMs: 1000},
			{Resource: "a", Owner: "no", Token: 1, RemainingMs: 1000, AcquiredAtMs: 90_000}},
		queues: map[cli.Resource]*messages.Queue{{Name: "z"}: queues[0], {Name: "back"}: queues[1]},
		now:    time.UnixMilli(61_000),
	}
	for _, test := range []struct {
		by      messages.Ranking
		waiters bool
		want    string
	}{
		{messages.Ranking_QUEUE, false, `RESOURCE  WAITING  OLDEST  OWNER      TOKEN  LEFT
z             230    1m5s  me             7    1s
back          100    1.5s  no holder             
`},
		{messages.Ranking_WAIT, true, `RESOURCE  OLDEST  WAITING  OWNER      KIND       TOKEN  WAITED  LEFT
z           1m5s      230  me         exclusive      7            1s
  waits                    w          exclusive            0ms   0ms
back        1.5s      100  no holder                                
`},
		{messages.Ranking_HOLD, false, `RESOURCE  HELD  OWNER  TOKEN  LEFT  WAITING
z           1m  me         7    1s      230
a          0ms  no         1    1s        0
`},
	} {
		all.by, all.ranked = test.by, queues
		if test.by == messages.Ranking_HOLD {
			all.ranked = nil
		}
		if got := all.table(test.waiters).Text(0); got != test.want {
			t.Errorf("by %s:\n%s\nwant\n%s", test.by, got, test.want)
		}
	}
}
