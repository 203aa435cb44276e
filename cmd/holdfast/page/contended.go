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
	all, err := d.held(ctx, of)
	if err != nil {
		return nil, err
	}
	return &tops{Queues: first(all, byQueue, maxTop), Waits: first(all, byWait, maxTop), Holds: first(all, byHold, maxTop),
		Tenanted: of.Tenanted}, nil
}

// held returns the locks of a selection that are held, as many as a scan reads.
func (d *deployment) held(ctx context.Context, of selection) (rows []lockRow, err error) {
	_, err = d.scan(ctx, &messages.ListRequest{Pattern: of.key, Tenant: of.Tenant, Waiters: true},
		func(page *messages.ListReply) bool {
			queues := queuesOf(page)
			for _, l := range page.GetLeases() {
				rows = append(rows, newLockRow(l, queues[cli.ResourceOf(l)], false))
			}
			return true
		})
	return rows, err
}

// queuesOf returns the queues of a page by their resources.
func queuesOf(page *messages.ListReply) map[cli.Resource]*messages.Queue {
	queues := make(map[cli.Resource]*messages.Queue)
	for _, q := range page.GetQueues() {
		queues[cli.ResourceOf(q)] = q
	}
	return queues
}

// first returns the first locks by a ranking, of which those by what waits have only locks that are waited for.
func first(all []lockRow, by ranking, limit int) []lockRow {
	rows := slices.Clone(all)
	if by != byHold {
		rows = slices.DeleteFunc(rows, func(r lockRow) bool { return r.Waiting == 0 })
	}
	slices.SortStableFunc(rows, func(a, b lockRow) int {
		switch by {
		case byQueue:
			return cmp.Or(cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(b.Oldest, a.Oldest))
		case byWait:
			return cmp.Or(cmp.Compare(b.Oldest, a.Oldest), cmp.Compare(b.Waiting, a.Waiting))
		}
		return cmp.Compare(b.Age, a.Age)
	})
	return rows[:min(len(rows), limit)]
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
