package page

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

const (
	// maxRows is how many changes a view shows, the newest ones.
	maxRows = 100
	// enoughRows is how many changes are enough not to look further back.
	enoughRows = 20
	// readTime bounds how long journals are read for a view, and readChanges how many changes of the selection.
	readTime, readChanges = time.Second, 5000
)

// windows are how far back journals are read, one after the other, until there are enough changes. 0: to their
// beginning.
var windows = []time.Duration{time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, time.Hour,
	24 * time.Hour, 0}

// shownKinds are the kinds of changes that are shown: all but renewals, which are the most by far.
var shownKinds = holdfast.Kinds(holdfast.EventAcquired, holdfast.EventReleased, holdfast.EventExpired,
	holdfast.EventBroken,
	holdfast.EventConfirmed, holdfast.EventUpdated)

// change is a change of a lock, as views show it.
type change struct {
	// Tenanted: the column of tenants is shown. Single: that of locks is not.
	Tenanted, Single bool
	// ID identifies the change in the deployment.
	ID   string
	Kind string
	At   time.Time
	lease
	// Held is for how long the lease was held that ended; 0: none ended.
	Held time.Duration
	// HeldBack: the resource is held back since.
	HeldBack bool
	// Reason is why it was made, and by whom; may be empty.
	Reason string
	// Details are the reason, for how long the lease was held, and whether its resource is held back, or rests.
	Details string
}

func (s selection) changeOf(e holdfast.Event) change {
	var details []string
	if e.Kind.Ends() {
		details = append(details, "held "+duration(e.Held()))
	}
	if e.HeldBack {
		details = append(details, "held back")
	}
	if e.Resting > 0 {
		details = append(details, "rests for "+duration(e.Resting))
	}
	if e.Reason != "" {
		details = append(details, "reason: "+e.Reason)
	}
	return change{
		Tenanted: s.Tenanted, Single: s.single(), ID: e.ID.String(), Kind: kindText(e.Kind), At: e.Time, lease: leaseOf(e.Lease),
		Held: e.Held(), HeldBack: e.HeldBack, Reason: e.Reason, Details: strings.Join(details, ", "),
	}
}

func kindText(k holdfast.EventKind) string { return strings.ToLower(k.String()) }

// The kinds in the words of views.
var (
	kindAcquired  = kindText(holdfast.EventAcquired)
	kindReleased  = kindText(holdfast.EventReleased)
	kindExpired   = kindText(holdfast.EventExpired)
	kindBroken    = kindText(holdfast.EventBroken)
	kindConfirmed = kindText(holdfast.EventConfirmed)
)

// history is the newest changes that a journal has, newest first.
type history struct {
	// Tenanted: the column of tenants is shown. Single: that of locks is not.
	Tenanted, Single bool
	Rows             []change
	// Reach says how far it goes back.
	Reach string
	// whole: nothing was left unread for lack of time.
	whole bool
}

// recent reads the newest changes of a selection. It reads a window of the journal after the other, so that
// a long journal costs no more than a short one.
func (s selection) recent(ctx context.Context, c *holdfast.Client) (history, error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	h := history{Tenanted: s.Tenanted, Single: s.single()}
	for _, window := range windows {
		rows, begins, err := s.since(ctx, c, window, shownKinds)
		if errors.Is(err, errTooMany) || ctx.Err() != nil {
			h.cut(rows)
			return h, nil
		}
		if err != nil {
			return h, err
		}
		h.Reach, h.whole, h.Rows = reach(window), true, newest(rows)
		if len(rows) > maxRows {
			h.Reach = fmt.Sprintf("The newest %d changes are shown, without renewals.", maxRows)
		}
		if len(rows) >= enoughRows || !begins.IsZero() {
			break
		}
	}
	return h, nil
}

// newest returns the newest of changes, newest first.
func newest(rows []change) []change {
	slices.SortStableFunc(rows, func(a, b change) int { return b.At.Compare(a.At) })
	return rows[:min(len(rows), maxRows)]
}

// cut says that a window could not be read to its end. What a shorter window had is shown, else what was read.
func (h *history) cut(read []change) {
	h.whole = false
	switch {
	case h.Reach != "":
	case len(read) > 0:
		h.Rows, h.Reach = newest(read), "Too many changes are made to read all of them here: some are left out."
	default:
		h.Reach = "The journals did not answer in " + duration(readTime) + ", so no changes are shown."
	}
}

func reach(window time.Duration) string {
	if window == 0 {
		return "All changes that the journal retains are shown, without renewals."
	}
	return "All changes of the last " + duration(window) + " that the journal retains are shown, without renewals."
}

// errTooMany says that a window has more changes than are read for a view.
var errTooMany = errors.New("too many changes")

// since returns the changes of a window, oldest first, with an error those that it has read before. begins is when the
// journal begins, if that is within the window.
func (s selection) since(ctx context.Context, c *holdfast.Client, window time.Duration,
	kinds holdfast.WatchOption) (rows []change,
	begins time.Time, err error) {
	from := time.Time{}
	if window > 0 {
		from = time.Now().Add(-window)
	}
	start := holdfast.Since(from)
	for { // compaction may proceed meanwhile
		rows, err = s.read(ctx, c, start, kinds)
		gap := (*holdfast.CompactedError)(nil)
		if !errors.As(err, &gap) || ctx.Err() != nil {
			return rows, begins, err
		}
		start, begins = holdfast.From(gap.Oldest), gap.Begins
	}
}

func (s selection) read(ctx context.Context, c *holdfast.Client, start, kinds holdfast.WatchOption) (rows []change,
	err error) {
	for e, err := range s.watch(ctx, c, start, kinds, holdfast.UntilNow()) {
		if err != nil {
			return rows, err
		}
		if rows = append(rows, s.changeOf(e)); len(rows) > readChanges {
			return rows, errTooMany
		}
	}
	return rows, nil
}
