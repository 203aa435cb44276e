package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/messages"
)

// locksPerPage is how many leases the view shows.
const locksPerPage = 100

// What the view of locks is limited to: the values of its parameter state.
const (
	stateHeld        = "held"
	stateWaited      = "waited"
	stateHeldBack    = "heldback"
	stateUnconfirmed = "unconfirmed"
)

// states have what the view can be limited to, and by what it can be sorted then: the first is the default.
var states = []struct {
	value, label, empty string
	sorts               []string
}{
	{stateHeld, "held", "No lock of this selection is held.", []string{"name", "-age"}},
	{stateWaited, "waited for", "No request waits for a lock of this selection.", []string{"-waiting", "-oldest"}},
	{stateHeldBack, "held back after a loss", "No lock of this selection is held back.", []string{"name"}},
	{stateUnconfirmed, "to be confirmed", "No loss of a lock of this selection is to be confirmed.", []string{"name"}},
}

// rankings are those of the columns that sort the view by one.
var rankings = map[string]messages.Ranking{
	"waiting": messages.Ranking_QUEUE, "oldest": messages.Ranking_WAIT, "age": messages.Ranking_HOLD,
}

// choice is one option of a form.
type choice struct {
	Value, Label string
	Chosen       bool
}

// locks is the view of the leases that a pattern selects.
type locks struct {
	selection
	State, after string
	// Order is how the table is sorted.
	Order order

	Rows []lockRow
	// Next is where the next page is, empty on the last one.
	Next string
	// Note says what is not shown; may be empty.
	Note string
	// unranked: the deployment does not sort as was asked for.
	unranked bool
}

func openLocks(_ *Page, query url.Values) (view, error) {
	l := &locks{State: cmp.Or(query.Get("state"), stateHeld), after: query.Get("after")}
	var err error
	if l.selection, err = openSelection(query); err != nil {
		return l, err
	}
	for _, s := range states {
		if s.value == l.State {
			l.Order, err = openOrder("locks", "sort", query, s.sorts...)
			return l, err
		}
	}
	return l, fmt.Errorf("%w: the state is %s, %s, %s or %s, got %q", errInput, stateHeld, stateWaited, stateHeldBack,
		stateUnconfirmed, l.State)
}

// Choices returns the states of the form.
func (l *locks) Choices() (all []choice) {
	for _, s := range states {
		all = append(all, choice{s.value, s.label, s.value == l.State})
	}
	return all
}

// Empty says what there is none of, or why there is nothing.
func (l *locks) Empty() string {
	if l.unranked {
		return "Locks cannot be sorted so: " + errUnranked.Error() + "."
	}
	for _, s := range states {
		if s.value == l.State {
			return s.empty
		}
	}
	return ""
}

// Head returns the head of a column. One by which the state cannot be sorted leads to the state that can.
func (l *locks) Head(key, title string, number bool) head {
	of := stateHeld
	switch key {
	case "waiting", "oldest":
		of = stateWaited
	case "name":
		of = l.State
		if of == stateWaited {
			of = stateHeld
		}
	}
	o := l.Order
	if of != l.State {
		o.By = ""
	}
	h := o.Head(key, title, number)
	link := l.query(url.Values{"state": {of}})
	if l.Pattern != "" {
		link.Set("pattern", l.Pattern)
	}
	if key != "name" {
		link.Set("sort", "-"+key)
	}
	if h.URL = "locks?" + link.Encode(); h.Sorted != "" {
		h.URL = "" // a ranking has one direction
	}
	return h
}

// Summary says what is shown, in a sentence.
func (l *locks) Summary() string {
	if l.Next != "" {
		return plural(len(l.Rows), "lease is shown; there may be more.", "leases are shown; there may be more.")
	}
	return plural(len(l.Rows), "lease is shown.", "leases are shown.")
}

func (l *locks) load(ctx context.Context, d *deployment) error {
	l.Rows, l.Next, l.Note, l.unranked = nil, "", "", false
	if err := l.choose(ctx, d); err != nil {
		return err
	}
	if by, ranked := rankings[l.Order.By]; ranked {
		return l.rank(ctx, d, by)
	}
	lost := l.State != stateHeld
	r := &messages.ListRequest{
		Pattern: l.key, Tenant: l.Tenant, After: l.after, Limit: locksPerPage, Waiters: true, HeldBack: lost,
	}
	if l.State == stateUnconfirmed {
		return l.scan(ctx, d, r)
	}
	page, err := d.list(ctx, r)
	if err != nil {
		return err
	}
	l.add(page, lost)
	l.next(page.GetNext())
	return nil
}

// rank shows the top of a ranking.
func (l *locks) rank(ctx context.Context, d *deployment, by messages.Ranking) (err error) {
	err = d.ranks(ctx)
	if l.unranked = errors.Is(err, errUnranked); l.unranked {
		return nil
	}
	if err != nil {
		return err
	}
	if l.Rows, err = d.top(ctx, by, l.selection, locksPerPage); len(l.Rows) == locksPerPage {
		l.Note = fmt.Sprintf("The first %d are shown; choose a pattern to see others.", locksPerPage)
	}
	return err
}

// scan looks for losses that are to be confirmed, which no listing can select.
func (l *locks) scan(ctx context.Context, d *deployment, r *messages.ListRequest) error {
	next := ""
	more, err := d.scan(ctx, r, func(page *messages.ListReply) bool {
		next = page.GetNext()
		if last := l.add(page, true); last != "" {
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
		l.Next = "locks?" + l.query(url.Values{"pattern": {l.Pattern}, "state": {l.State}, "after": {after}}).Encode()
	}
}

// add adds the leases until there are enough, and all of the last resource. It returns the cursor behind that resource,
// empty if all fit.
func (l *locks) add(page *messages.ListReply, lost bool) (last string) {
	for _, r := range rowsOf(page, lost) {
		if l.State == stateUnconfirmed && r.Left > 0 {
			continue
		}
		if n := len(l.Rows); n >= locksPerPage && l.Rows[n-1].of() != r.of() {
			return l.behind(l.Rows[n-1].of())
		}
		l.Rows = append(l.Rows, r)
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
