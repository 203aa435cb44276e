package page

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/messages"
)

// ranking is what locks are ranked by.
type ranking int

const (
	byQueue ranking = iota // the longest queue first
	byWait                 // the request that has waited longest first
	byHold                 // the lease that is held longest first
)

// tops are the locks that are contended most.
type tops struct {
	Queues, Waits, Holds []lockRow
	// Tenanted: the deployment has tenants.
	Tenanted bool
}

// tops reads what is contended.
func (d *deployment) tops(ctx context.Context) (*tops, error) {
	of := selection{}
	if err := of.choose(ctx, d); err != nil {
		return nil, err
	}
	t := &tops{Tenanted: of.Tenanted}
	for by, rows := range map[ranking]*[]lockRow{byQueue: &t.Queues, byWait: &t.Waits, byHold: &t.Holds} {
		all, err := d.ranked(ctx, by, of, maxTop)
		if err != nil {
			return nil, err
		}
		*rows = all
	}
	return t, nil
}

// ranked returns the first locks of a selection by a ranking.
func (d *deployment) ranked(ctx context.Context, by ranking, of selection, limit int) (rows []lockRow, err error) {
	_, err = d.scan(ctx, &messages.ListRequest{Pattern: of.key, Tenant: of.Tenant, Waiters: true},
		func(page *messages.ListReply) bool {
			queues := make(map[cli.Resource]*messages.Queue)
			for _, q := range page.GetQueues() {
				queues[cli.ResourceOf(q)] = q
			}
			for _, l := range page.GetLeases() {
				if row := newLockRow(l, queues[cli.ResourceOf(l)], false); by == byHold || row.Waiting > 0 {
					rows = append(rows, row)
				}
			}
			return true
		})
	slices.SortStableFunc(rows, func(a, b lockRow) int {
		switch by {
		case byQueue:
			return cmp.Or(cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(b.Oldest, a.Oldest))
		case byWait:
			return cmp.Or(cmp.Compare(b.Oldest, a.Oldest), cmp.Compare(b.Waiting, a.Waiting))
		}
		return cmp.Compare(b.Age, a.Age)
	})
	return rows[:min(len(rows), limit)], err
}

func newLockRow(l *messages.Lease, q *messages.Queue, lost bool) lockRow {
	row := lockRow{lease: newLease(l, lost), Waiting: len(q.GetWaiters())}
	for _, w := range q.GetWaiters() {
		row.Oldest = max(row.Oldest, cli.Millis(w.GetWaitingMs()))
	}
	return row
}

// shownQueue is how many requests of a queue a listing has at most.
const shownQueue = 100

// Queue returns how many requests wait: "3", or "100 or more".
func (r lockRow) Queue() string {
	if r.Waiting >= shownQueue {
		return fmt.Sprintf("%d or more", r.Waiting)
	}
	return strconv.Itoa(r.Waiting)
}

// top is one table of what is contended most.
type top struct {
	Caption, Figure string
	Rows            []lockRow
}

// Of returns the table of one ranking: its caption, and the head of the column with the figure that counts.
func (t *tops) Of(caption, figure string, rows []lockRow) top { return top{caption, figure, rows} }

// Value returns the figure that counts.
func (t top) Value(r lockRow) string {
	switch t.Figure {
	case "Waiting":
		return r.Queue()
	case "Waits for":
		return duration(r.Oldest)
	}
	return duration(r.Age)
}
