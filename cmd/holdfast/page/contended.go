package page

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/messages"
)

// lockRow is a lease in a view, with the queue of its resource. A resource without a holder has no owner.
type lockRow struct {
	lease
	// Waiting is how many requests wait for its resource, and Oldest how long the oldest of them has waited.
	Waiting int
	Oldest  time.Duration
}

// newLockRow returns the row of a lease. A node of a former version does not say how many wait beyond those it lists.
func newLockRow(l *messages.Lease, q *messages.Queue, lost bool) lockRow {
	return lockRow{
		lease: newLease(l, lost), Waiting: max(int(q.GetWaiting()), len(q.GetWaiters())), Oldest: cli.Millis(q.GetOldestMs()),
	}
}

// State says in words how the resource is.
func (r lockRow) State() string {
	if r.Owner == "" {
		return "no holder" // it is held back, or free for a moment
	}
	return r.lease.State()
}

// errUnranked says that the deployment does not offer rankings, which it does only while all nodes do.
var errUnranked = errors.New("a node of a former version runs, which has no rankings; upgrade all nodes")

// ranks returns [errUnranked] if the deployment has no rankings.
func (d *deployment) ranks(ctx context.Context) error {
	info, err := d.client.Info(ctx)
	if err == nil && !slices.Contains(info.Features, messages.FeatureRanking) {
		return errUnranked
	}
	return err
}

// top returns the first locks of a ranking.
func (d *deployment) top(ctx context.Context, by messages.Ranking, of selection, limit uint32) (rows []lockRow, err error) {
	holds := by == messages.Ranking_HOLD
	page, err := d.list(ctx, &messages.ListRequest{Pattern: of.key, Tenant: of.Tenant, By: by, Limit: limit, Waiters: holds})
	if holds {
		return rowsOf(page, false), err
	}
	held := make(map[cli.Resource]*messages.Lease)
	for _, l := range page.GetLeases() {
		held[cli.ResourceOf(l)] = l
	}
	for _, q := range page.GetQueues() {
		l := held[cli.ResourceOf(q)]
		if l == nil {
			l = &messages.Lease{Resource: q.GetResource(), Tenant: q.GetTenant()}
		}
		rows = append(rows, newLockRow(l, q, false))
	}
	return rows, err
}

// rowsOf returns the leases of a page with their queues. lost: they hold their resources back.
func rowsOf(page *messages.ListReply, lost bool) (rows []lockRow) {
	queues := make(map[cli.Resource]*messages.Queue)
	for _, q := range page.GetQueues() {
		queues[cli.ResourceOf(q)] = q
	}
	for _, l := range page.GetLeases() {
		rows = append(rows, newLockRow(l, queues[cli.ResourceOf(l)], lost))
	}
	return rows
}

// top is a table of what is contended most.
type top struct {
	// Caption says what is first, and Figure is the head of the column with what counts.
	Caption, Figure string
	// Empty says that there is nothing; "": another table says it.
	Empty string
	Rows  []lockRow

	by messages.Ranking
}

// tops are the tables of the overview.
var tops = []top{
	{Caption: "Longest queues", Figure: "Waiting", Empty: "No request waits.", by: messages.Ranking_QUEUE},
	{Caption: "Oldest waiters", Figure: "Waits for", by: messages.Ranking_WAIT},
	{Caption: "Longest holds", Figure: "Held for", Empty: "No lock is held.", by: messages.Ranking_HOLD},
}

// Value returns what counts.
func (t top) Value(r lockRow) string {
	switch t.by {
	case messages.Ranking_QUEUE:
		return strconv.Itoa(r.Waiting)
	case messages.Ranking_WAIT:
		return duration(r.Oldest)
	}
	return duration(r.Age)
}

// tops reads what is contended.
func (d *deployment) tops(ctx context.Context) ([]top, error) {
	of := selection{}
	if err := of.choose(ctx, d); err != nil {
		return nil, err
	}
	if err := d.ranks(ctx); err != nil {
		return nil, err
	}
	all := slices.Clone(tops)
	for i := range all {
		var err error
		if all[i].Rows, err = d.top(ctx, all[i].by, of, maxTop); err != nil {
			return nil, err
		}
	}
	return all, nil
}
