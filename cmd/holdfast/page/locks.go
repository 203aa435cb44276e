package page

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/messages"
)

// locksPerPage is how many leases the view shows.
const locksPerPage = 100

// What the view of locks is limited to: the values of its parameter state.
const (
	stateHeld     = "held"
	stateWaited   = "waited"
	stateHeldBack = "heldback"
)

// choice is one option of a form.
type choice struct {
	Value, Label string
	Chosen       bool
}

// locks is the view of the leases that a pattern selects.
type locks struct {
	selection
	State, after string

	Rows []lockRow
	// Next is where the next page is, empty on the last one.
	Next string
	// Note says what was not looked at; may be empty.
	Note string
}

// lockRow is a lease in the view.
type lockRow struct {
	lease
	// Queue is how many requests wait for its resource: "3", or "100 or more".
	Queue string
}

func openLocks(_ *Page, query url.Values) (view, error) {
	l := &locks{State: cmp.Or(query.Get("state"), stateHeld), after: query.Get("after")}
	var err error
	if l.selection, err = openSelection(query); err != nil {
		return l, err
	}
	switch l.State {
	case stateHeld, stateWaited, stateHeldBack:
		return l, nil
	}
	return l, fmt.Errorf("%w: the state is %s, %s or %s, got %q", errInput, stateHeld, stateWaited, stateHeldBack,
		l.State)
}

// Choices returns the states of the form.
func (l *locks) Choices() []choice {
	return []choice{
		{stateHeld, "held", l.State == stateHeld},
		{stateWaited, "waited for", l.State == stateWaited},
		{stateHeldBack, "held back after a loss", l.State == stateHeldBack},
	}
}

// Empty says what there is none of.
func (l *locks) Empty() string {
	switch l.State {
	case stateWaited:
		return "No request waits for a lock of this selection."
	case stateHeldBack:
		return "No lock of this selection is held back."
	}
	return "No lock of this selection is held."
}

// Summary says what is shown, in a sentence.
func (l *locks) Summary() string {
	if l.Next != "" {
		return plural(len(l.Rows), "lease is shown; there may be more.", "leases are shown; there may be more.")
	}
	return plural(len(l.Rows), "lease is shown.", "leases are shown.")
}

func (l *locks) load(ctx context.Context, d *deployment) error {
	l.Rows, l.Next, l.Note = nil, "", ""
	if err := l.choose(ctx, d); err != nil {
		return err
	}
	r := &messages.ListRequest{
		Pattern: l.key, Tenant: l.Tenant, After: l.after, Limit: locksPerPage, Waiters: l.State != stateHeldBack,
		HeldBack: l.State == stateHeldBack,
	}
	if l.State == stateWaited {
		return l.scan(ctx, d, r)
	}
	page, err := d.list(ctx, r)
	if err != nil {
		return err
	}
	l.add(page)
	l.next(page.GetNext())
	return nil
}

// scan looks for leases whose resource is waited for, which no listing can select.
func (l *locks) scan(ctx context.Context, d *deployment, r *messages.ListRequest) error {
	next := ""
	more, err := d.scan(ctx, r, func(page *messages.ListReply) bool {
		next = page.GetNext()
		if last := l.add(page); last != "" {
			next = last
		}
		return len(l.Rows) < locksPerPage
	})
	if err != nil {
		return err
	}
	if l.next(next); more {
		l.Note = "At most " + scanned + " leases are looked at for a page."
	}
	return nil
}

func (l *locks) next(after string) {
	if after != "" {
		l.Next = "./?" + l.query(url.Values{"pattern": {l.Pattern}, "state": {l.State}, "after": {after}}).Encode()
	}
}

// add adds the leases until there are enough, and all of the last resource. It returns the cursor behind that resource,
// empty if all fit.
func (l *locks) add(page *messages.ListReply) (last string) {
	queues := make(map[cli.Resource]int)
	for _, q := range page.GetQueues() {
		queues[cli.ResourceOf(q)] = len(q.GetWaiters())
	}
	for _, m := range page.GetLeases() {
		waiting := queues[cli.ResourceOf(m)]
		if l.State == stateWaited && waiting == 0 {
			continue
		}
		if n := len(l.Rows); n >= locksPerPage && l.Rows[n-1].of() != cli.ResourceOf(m) {
			return l.behind(l.Rows[n-1].of())
		}
		l.Rows = append(l.Rows, lockRow{newLease(m, l.State == stateHeldBack), queueLength(waiting)})
	}
	return ""
}

// behind returns the cursor behind a resource, which has the tenant where several are listed.
func (l *locks) behind(r cli.Resource) string {
	if l.Tenant == messages.AllTenants {
		return messages.Qualify(r.Tenant, r.Name)
	}
	return r.Name
}

// shownQueue is how many requests of a queue a listing has at most.
const shownQueue = 100

func queueLength(n int) string {
	if n >= shownQueue {
		return fmt.Sprintf("%d or more", n)
	}
	return strconv.Itoa(n)
}
