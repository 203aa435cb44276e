package locks

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/messages"
)

// listing is the leases of a listing and the queues of their resources.
type listing struct {
	leases []*messages.Lease
	queues map[cli.Resource][]*messages.Waiter
	// lost: the leases are lost ones, whose resources are held back.
	lost bool
}

// row is a row of the table: a lease, or a request that waits for the resource of the leases above it.
type row struct {
	lease  *messages.Lease
	waiter *messages.Waiter
}

// rows returns the leases sorted by resource and tenant, in the order of the node for each, with the waiting requests
// behind them.
func (l *listing) rows(waiters bool) []row {
	leases := slices.Clone(l.leases)
	slices.SortStableFunc(leases, func(a, b *messages.Lease) int {
		return cli.ResourceOf(a).Compare(cli.ResourceOf(b))
	})
	var rows []row
	for i, lease := range leases {
		rows = append(rows, row{lease: lease})
		if !waiters || i+1 < len(leases) && cli.ResourceOf(leases[i+1]) == cli.ResourceOf(lease) {
			continue
		}
		for _, w := range l.queues[cli.ResourceOf(lease)] {
			rows = append(rows, row{waiter: w})
		}
	}
	return rows
}

// waits is the first cell of a waiting request. No resource looks like it: a name with spaces is quoted.
const waits = "  waits"

// table returns the listing with a row for each lease, and for each waiting request if these are wanted. Columns that
// all rows would leave empty are omitted: TENANT without a lease of one, KIND and SLOTS without a shared lease.
func (l *listing) table(waiters bool) display.Table {
	rows := l.rows(waiters)
	queues := slices.ContainsFunc(rows, func(r row) bool { return r.waiter != nil })
	tenants := slices.ContainsFunc(rows, func(r row) bool { return r.lease.GetTenant() != "" })
	shared := slices.ContainsFunc(rows, func(r row) bool { return r.lease.GetLimit() > 0 })
	columns := []struct {
		title       string
		right, show bool
		lease       func(*messages.Lease) string
		waiter      func(*messages.Waiter) string
	}{
		{"RESOURCE", false, true,
			func(l *messages.Lease) string { return display.Name(l.GetResource()) },
			func(*messages.Waiter) string { return waits }},
		{"TENANT", false, tenants, tenantOf, nil},
		{"OWNER", false, true,
			func(l *messages.Lease) string { return display.Name(l.GetOwner()) },
			func(w *messages.Waiter) string { return display.Name(w.GetOwner()) }},
		{"KIND", false, shared || queues, cli.KindOf, cli.KindOfWaiter},
		{"SLOTS", false, shared, func(l *messages.Lease) string { return cli.Slots(l.GetSlots()) }, nil},
		{"TOKEN", true, true, func(l *messages.Lease) string { return cli.Tokens(l.GetToken(), l.GetTokens()) }, nil},
		{"WAITED", true, queues, nil, func(w *messages.Waiter) string {
			return display.Duration(cli.Millis(w.GetWaitingMs()))
		}},
		{"LEFT", true, true,
			func(lease *messages.Lease) string { return leftOf(lease, l.lost) },
			func(w *messages.Waiter) string { return display.Duration(cli.Millis(w.GetLeftMs())) }},
		{"WAITING", true, true, func(lease *messages.Lease) string { return count(l.queues[cli.ResourceOf(lease)]) },
			nil},
	}
	var t display.Table
	for _, c := range columns {
		if !c.show {
			continue
		}
		cells := []string{c.title}
		for _, r := range rows {
			cell := ""
			switch {
			case r.waiter != nil && c.waiter != nil:
				cell = c.waiter(r.waiter)
			case r.lease != nil && c.lease != nil:
				cell = c.lease(r.lease)
			}
			cells = append(cells, cell)
		}
		t = append(t, display.Column{Cells: cells, Right: c.right})
	}
	return t
}

// leftOf returns the remaining time of a lease; of a lost one, that of the hold on its resource.
func leftOf(l *messages.Lease, lost bool) string {
	if lost && l.GetRemainingMs() == 0 {
		return "unconfirmed"
	}
	return display.Duration(cli.Millis(l.GetRemainingMs()))
}

// tenantOf returns the tenant of a lease for a table.
func tenantOf(l *messages.Lease) string {
	if l.GetTenant() == "" {
		return ""
	}
	return display.Name(l.GetTenant())
}

// maxListed is how many requests of a queue a listing has at most.
const maxListed = 100

// count returns the number of the requests of a queue.
func count(queue []*messages.Waiter) string {
	if n := len(queue); n < maxListed {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d+", maxListed)
}
