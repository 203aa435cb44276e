package commands

import (
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
	// lost: the lease is lost, and its remaining time that of the hold.
	lost bool
}

// rows returns the leases sorted by resource and tenant, in the order of the node for each, with the queue behind them.
func (l *listing) rows() []row {
	leases := slices.Clone(l.leases)
	slices.SortStableFunc(leases, func(a, b *messages.Lease) int { return cli.ResourceOf(a).Compare(cli.ResourceOf(b)) })
	var rows []row
	for i, lease := range leases {
		rows = append(rows, row{lease: lease, lost: l.lost})
		if i+1 < len(leases) && cli.ResourceOf(leases[i+1]) == cli.ResourceOf(lease) {
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

// tableOf returns the table of the rows. waiting is the number of waiting requests of each resource. Columns that all
// rows would leave empty are omitted: TENANT without a lease of one, KIND and SLOTS without a shared lease, WAITING if no
// number is known.
func tableOf(rows []row, waiting map[cli.Resource]int) display.Table {
	queues := slices.ContainsFunc(rows, func(r row) bool { return r.waiter != nil })
	lost := slices.ContainsFunc(rows, func(r row) bool { return r.lost })
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
		{"TOKEN", true, true, func(l *messages.Lease) string { return strconv.FormatUint(l.GetToken(), 10) }, nil},
		{"WAITED", true, queues, nil, func(w *messages.Waiter) string { return display.Duration(cli.Millis(w.GetWaitingMs())) }},
		{"LEFT", true, true,
			func(l *messages.Lease) string { return leftOf(l, lost) },
			func(w *messages.Waiter) string { return display.Duration(cli.Millis(w.GetLeftMs())) }},
		{"WAITING", true, len(waiting) > 0, func(l *messages.Lease) string { return count(waiting, cli.ResourceOf(l)) }, nil},
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

func count(waiting map[cli.Resource]int, r cli.Resource) string {
	n, known := waiting[r]
	if !known {
		return "?"
	}
	return strconv.Itoa(n)
}
