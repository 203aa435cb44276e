package locks

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/messages"
)

// listing is the leases of a listing and the queues of their resources.
type listing struct {
	// leases are in the order of the node.
	leases []*messages.Lease
	queues map[cli.Resource]*messages.Queue
	// lost: the leases are lost ones, whose resources are held back.
	lost bool
	// by is what the listing is sorted by, at now.
	by  messages.Ranking
	now time.Time
	// ranked are the entries of a ranking of queues; nil: the leases are the entries.
	ranked []*messages.Queue
}

// row is a row of the table: a resource with its lease, or a request that waits for the resource of the rows above it.
type row struct {
	resource cli.Resource
	lease    *messages.Lease // nil: the resource has no holder
	waiter   *messages.Waiter
}

// entries returns the rows without waiting requests: of a ranking in its order, else sorted by resource and tenant, and
// in the order of the node for each.
func (l *listing) entries() (rows []row) {
	held := make(map[cli.Resource]*messages.Lease)
	for _, lease := range l.leases {
		held[cli.ResourceOf(lease)] = lease
		if l.ranked == nil {
			rows = append(rows, row{resource: cli.ResourceOf(lease), lease: lease})
		}
	}
	for _, queue := range l.ranked {
		r := cli.ResourceOf(queue)
		rows = append(rows, row{resource: r, lease: held[r]})
	}
	if l.by == messages.Ranking_UNRANKED {
		slices.SortStableFunc(rows, func(a, b row) int { return a.resource.Compare(b.resource) })
	}
	return rows
}

// rows returns the entries, with the waiting requests behind them if these are wanted.
func (l *listing) rows(waiters bool) []row {
	entries := l.entries()
	if !waiters {
		return entries
	}
	var rows []row
	queued := make(map[cli.Resource]bool)
	for i, e := range entries {
		rows = append(rows, e)
		if queued[e.resource] || i+1 < len(entries) && entries[i+1].resource == e.resource {
			continue
		}
		queued[e.resource] = true
		for _, w := range l.queues[e.resource].GetWaiters() {
			rows = append(rows, row{resource: e.resource, waiter: w})
		}
	}
	return rows
}

const (
	// waits is the first cell of a waiting request. No resource looks like it: a name with spaces is quoted.
	waits = "  waits"
	// noHolder is the owner of a resource that is held back, or free for a moment. No owner looks like it.
	noHolder = "no holder"
)

// table returns the listing with a row for each entry, and for each waiting request if these are wanted. The column that
// a ranking sorts by stands behind the resource. Columns that all rows would leave empty are omitted: TENANT without an
// entry of one, KIND and SLOTS without a shared lease.
func (l *listing) table(waiters bool) display.Table {
	rows := l.rows(waiters)
	queues := slices.ContainsFunc(rows, func(r row) bool { return r.waiter != nil })
	tenants := slices.ContainsFunc(rows, func(r row) bool { return r.resource.Tenant != "" })
	shared := slices.ContainsFunc(rows, func(r row) bool { return r.lease.GetLimit() > 0 })
	byQueue, byWait := l.by == messages.Ranking_QUEUE, l.by == messages.Ranking_WAIT
	waiting := func(r row) string { return count(l.queues[r.resource]) }
	oldest := func(r row) string { return display.Duration(cli.Millis(l.queues[r.resource].GetOldestMs())) }
	columns := []struct {
		title       string
		right, show bool
		entry       func(row) string
		waiter      func(*messages.Waiter) string
	}{
		{"RESOURCE", false, true,
			func(r row) string { return display.Name(r.resource.Name) },
			func(*messages.Waiter) string { return waits }},
		{"TENANT", false, tenants, tenantOf, nil},
		{"WAITING", true, byQueue, waiting, nil},
		{"OLDEST", true, byQueue || byWait, oldest, nil},
		{"WAITING", true, byWait, waiting, nil},
		{"HELD", true, l.by == messages.Ranking_HOLD, l.heldFor, nil},
		{"OWNER", false, true, ownerOf, func(w *messages.Waiter) string { return display.Name(w.GetOwner()) }},
		{"KIND", false, shared || queues, ofLease(cli.KindOf), cli.KindOfWaiter},
		{"SLOTS", false, shared, ofLease(func(l *messages.Lease) string { return cli.Slots(l.GetSlots()) }), nil},
		{"TOKEN", true, true,
			ofLease(func(l *messages.Lease) string { return cli.Tokens(l.GetToken(), l.GetTokens()) }), nil},
		{"WAITED", true, queues, nil, func(w *messages.Waiter) string {
			return display.Duration(cli.Millis(w.GetWaitingMs()))
		}},
		{"LEFT", true, true,
			ofLease(func(lease *messages.Lease) string { return leftOf(lease, l.lost) }),
			func(w *messages.Waiter) string { return display.Duration(cli.Millis(w.GetLeftMs())) }},
		{"WAITING", true, !byQueue && !byWait, waiting, nil},
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
			case r.waiter == nil && c.entry != nil:
				cell = c.entry(r)
			}
			cells = append(cells, cell)
		}
		t = append(t, display.Column{Cells: cells, Right: c.right})
	}
	return t
}

// ofLease returns a cell that is empty without a lease.
func ofLease(cell func(*messages.Lease) string) func(row) string {
	return func(r row) string {
		if r.lease == nil {
			return ""
		}
		return cell(r.lease)
	}
}

func ownerOf(r row) string {
	if r.lease == nil {
		return noHolder
	}
	return display.Name(r.lease.GetOwner())
}

// heldFor returns for how long a lease has been held, by the clocks of the node that granted it and of this host.
func (l *listing) heldFor(r row) string {
	return display.Duration(max(l.now.Sub(time.UnixMilli(r.lease.GetAcquiredAtMs())), 0))
}

// leftOf returns the remaining time of a lease; of a lost one, that of the hold on its resource.
func leftOf(l *messages.Lease, lost bool) string {
	if lost && l.GetRemainingMs() == 0 {
		return "unconfirmed"
	}
	return display.Duration(cli.Millis(l.GetRemainingMs()))
}

// tenantOf returns the tenant of a resource for a table.
func tenantOf(r row) string {
	if r.resource.Tenant == "" {
		return ""
	}
	return display.Name(r.resource.Tenant)
}

// maxListed is how many requests of a queue a listing has at most.
const maxListed = 100

// count returns the number of the requests of a queue, of which nodes of earlier versions say no more than the first.
func count(q *messages.Queue) string {
	if n := max(int(q.GetWaiting()), len(q.GetWaiters())); n != maxListed || q.GetWaiting() > 0 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d+", maxListed)
}
