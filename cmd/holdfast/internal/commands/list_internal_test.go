package commands

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
	rows := (&listing{leases: leases}).rows()
	for columns := 50; columns < 300; columns++ {
		text := tableOf(rows, map[cli.Resource]int{cli.ResourceOf(leases[0]): 0, cli.ResourceOf(leases[2]): 1000}).Text(columns)
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
	if text := tableOf(rows, nil).Text(0); strings.Contains(text, "…") || strings.Contains(text, "WAITING") {
		t.Errorf("without a terminal:\n%s", text)
	}
}

func TestScreenShowsWhatFits(t *testing.T) {
	all := make([]row, 20)
	for i := range all {
		all[i].lease = &messages.Lease{Resource: strings.Repeat("r", i+1), Owner: "me"}
		if i%3 == 2 {
			all[i] = row{waiter: &messages.Waiter{Owner: "you", Permits: 1}}
		}
	}
	s := &screen{title: "holdfast ls, every 2s", what: "held", text: func(r []row, columns int) string {
		return tableOf(r, nil).Text(columns)
	}}
	for rows := 5; rows < 30; rows++ {
		lines := s.lines(display.Size{Columns: 60, Rows: rows}, time.Time{}, all, nil)
		last := lines[len(lines)-1]
		if all := len(lines) == len(all)+3; len(lines) > rows || all == strings.HasPrefix(last, "... and ") {
			t.Errorf("on %d rows:\n%s", rows, strings.Join(lines, "\n"))
		}
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
		queues: map[cli.Resource][]*messages.Waiter{{Name: "orders.1", Tenant: "A"}: {{Owner: "w", Permits: 1}}},
	}
	want := `RESOURCE  TENANT  OWNER  KIND       TOKEN  WAITED  LEFT
orders.1          me     exclusive      7            1s
orders.1  A       a      exclusive      1            1s
  waits           w      exclusive            0ms   0ms
orders.1  B       b      exclusive      2            1s
`
	if got := tableOf(all.rows(), nil).Text(0); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	all.leases = all.leases[1:2]
	if got := tableOf(all.rows(), nil).Text(0); strings.Contains(got, "TENANT") {
		t.Errorf("without a tenant:\n%s", got)
	}
}
