package page

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

const (
	// batchEvery is how often changes are sent, and batchMost how many at a time. What exceeds that is left out.
	batchEvery, batchMost = time.Second, 50
	// keepEvery is after how many intervals without a change a stream says that it is in use and has missed nothing.
	keepEvery = 15
)

// events is the view of changes as they happen.
type events struct {
	selection
	// Changes are the newest ones, newest first.
	Changes history
	// From is the position behind them.
	From holdfast.Position
}

func openEvents(_ *Page, query url.Values) (view, error) {
	e := &events{}
	var err error
	if e.selection, err = openSelection(query); err != nil {
		return e, err
	}
	if e.From, err = holdfast.ParsePosition(query.Get("from")); err != nil {
		return e, fmt.Errorf("%w: from is a position that the page has had: %w", errInput, err)
	}
	return e, nil
}

// load reads the position before the changes, so that none is missing between them and those that follow.
func (e *events) load(ctx context.Context, d *deployment) (err error) {
	if err = e.choose(ctx, d); err != nil {
		return err
	}
	if e.From, err = e.now(ctx, d.client); err != nil {
		return err
	}
	e.Changes, err = e.recent(ctx, d.client)
	return err
}

// Summary says what is shown, in a sentence.
func (e *events) Summary() string {
	return plural(len(e.Changes.Rows), "change is shown.", "changes are shown.")
}

// now returns the position behind all changes of the journals.
func (s selection) now(ctx context.Context, c *holdfast.Client) (at holdfast.Position, err error) {
	for e, err := range s.watch(ctx, c, holdfast.Bookmarks(time.Minute)) {
		return e.Position(), err
	}
	return at, ctx.Err()
}

// batch is changes that are sent together, newest first.
type batch struct {
	// Tenanted: the column of tenants is shown.
	Tenanted bool
	Rows     []change
	// Gap says why changes before those in Rows are missing; empty: none are.
	Gap string
	At  time.Time
}

// follow sends the changes behind the position in batches. If more come than a batch takes, it leaves the watch for a
// while, says so, and goes on with what is new then. So a view costs as much at a million changes as at fifty.
func (e *events) follow(ctx context.Context, d *deployment, k *kind, f *feed) error {
	tick := time.NewTicker(batchEvery)
	defer tick.Stop()
	for err := e.choose(ctx, d); err != nil; err = e.choose(ctx, d) { // no node may answer yet
		if err := f.send("problem", "", "The journals cannot be read: "+err.Error()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	t := &tail{client: d.client, selection: e.selection, at: e.From}
	defer t.leave()
	var next batch
	for quiet := 0; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case a := <-t.watch(ctx):
			next.add(t.take(a))
			if len(next.Rows) == batchMost {
				t.rest()
			}
		case <-tick.C:
			if quiet++; next.has() || t.failure != nil || quiet == keepEvery {
				if err := next.send(ctx, t, k, f); err != nil {
					return err
				}
				quiet = 0
			}
			if len(next.Rows) == batchMost {
				t.skip("Changes come faster than they are shown: some are left out here.")
			}
			next = batch{}
		}
	}
}

func (b *batch) add(c *change, gap string) {
	if gap != "" {
		b.Gap = gap
	}
	if c != nil {
		b.Rows = slices.Insert(b.Rows, 0, *c)
	}
}

func (b *batch) has() bool { return len(b.Rows) > 0 || b.Gap != "" }

// send sends the batch. One without changes says that there are none, so the journals are asked before.
func (b *batch) send(ctx context.Context, t *tail, k *kind, f *feed) error {
	if !b.has() {
		if err := t.check(ctx); err != nil {
			return f.send("problem", "", "The journals cannot be read: "+err.Error())
		}
	}
	b.Tenanted, b.At = t.Tenanted, time.Now()
	return f.render(k, "rows", t.at.String(), frame{View: b, Now: b.At})
}

// Summary says what is new, in a sentence.
func (b *batch) Summary() string { return plural(len(b.Rows), "new change.", "new changes.") }
