package page

import (
	"context"
	"net/url"
)

// events is the view of the newest changes.
type events struct {
	selection
	Changes history
}

func openEvents(_ *Page, query url.Values) (view, error) {
	selected, err := openSelection(query)
	return &events{selection: selected}, err
}

func (e *events) load(ctx context.Context, d *deployment) (err error) {
	if err = e.choose(ctx, d); err == nil {
		e.Changes, err = e.recent(ctx, d.client)
	}
	return err
}

// Summary says what is shown, in a sentence. It differs when changes have come, also if as many are shown as before.
func (e *events) Summary() string {
	text := plural(len(e.Changes.Rows), "change is shown.", "changes are shown.")
	if len(e.Changes.Rows) > 0 {
		text += " The newest is of " + stamp(e.Changes.Rows[0].At) + "."
	}
	return text
}
