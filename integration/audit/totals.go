package audit

import (
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Totals count what a journal shows.
type Totals struct {
	Records, Commits, Empty, Opened, Pages, Changes int64
	// Kinds are changes by [messages.Event_Kind]; reservations have none.
	Kinds [8]int64
	// Bounces are grants that the service took back because the client was gone.
	Bounces int64
	// Forgotten are resources that a page has left out.
	Forgotten int64
	// Gaps are places where commits are missing, Unseen those where any records are. Both are of partial
	// journals only.
	Gaps, Unseen int64
	// TopToken is the highest that was granted or reserved.
	TopToken uint64
}

// Add adds the totals of another journal.
func (t *Totals) Add(o Totals) {
	t.Records += o.Records
	t.Commits += o.Commits
	t.Empty += o.Empty
	t.Opened += o.Opened
	t.Pages += o.Pages
	t.Changes += o.Changes
	for i := range t.Kinds {
		t.Kinds[i] += o.Kinds[i]
	}
	t.Bounces += o.Bounces
	t.Forgotten += o.Forgotten
	t.Gaps += o.Gaps
	t.Unseen += o.Unseen
	t.TopToken = max(t.TopToken, o.TopToken)
}

func (t *Totals) count(c *journal.Commit) {
	t.Commits++
	if c.GetOpened() {
		t.Opened++
	}
	if len(c.GetChanges()) == 0 {
		t.Empty++
	}
	for _, m := range c.GetChanges() {
		t.Changes++
		t.Kinds[m.GetKind()]++
		if m.GetKind() == messages.Event_RELEASED && m.GetReason() == Undelivered {
			t.Bounces++
		}
	}
}
