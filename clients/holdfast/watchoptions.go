package holdfast

import (
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast/internal/watch"
	"github.com/holdfast-io/holdfast/messages"
)

// WatchOption says where a [Client.Watch] begins and what it yields.
type WatchOption func(*watchOptions)

// watchOptions are what a watch is asked for.
type watchOptions struct {
	from    Position
	since   *time.Time
	present bool
	kinds   []EventKind
	// tenant is whose resources it covers: empty: those of no tenant.
	tenant string
	// untilNow: it ends where the journals end.
	untilNow bool
	// bookmarks is how often they come; 0: never. bookmarked: the option was given.
	bookmarks  time.Duration
	bookmarked bool
}

// From goes on behind a position. The zero one is as if it were not given, so that what was saved can be
// passed on also the first time.
func From(p Position) WatchOption { return func(t *watchOptions) { t.from = p } }

// Since begins with the changes made at t or later, by the clocks of the nodes. If the journal does not
// go back so far, the watch ends with a [CompactedError], whose Oldest is where to begin then. It
// does not count if there is a position to go on [From].
func Since(t time.Time) WatchOption { return func(w *watchOptions) { w.since = &t } }

// Present yields first the leases that are held, as [EventPresent], then a bookmark, and then every change since. A
// lease that was there comes once, and a change that is in it already does not come again. Reading that
// takes as long as a node takes to open the shards. Ephemeral leases are not among them, as they are
// never events. It does not count if there is a position to go on [From]: then the holders came
// before.
func Present() WatchOption { return func(t *watchOptions) { t.present = true } }

// Kinds leaves out the changes of other kinds: renewals, [EventExtended], are the most frequent by far.
func Kinds(kinds ...EventKind) WatchOption {
	return func(t *watchOptions) { t.kinds = append(t.kinds, kinds...) }
}

// Bookmarks yields a position with an [EventBookmark] as soon as the watch stands, from which on nothing
// is left out, and again each time that it has come further without an event for this duration. A watch of
// few of many resources that is to be continued later needs that: a position that is as old as the last
// event may have been compacted.
func Bookmarks(every time.Duration) WatchOption {
	return func(t *watchOptions) { t.bookmarks, t.bookmarked = every, true }
}

// UntilNow ends the watch, without an error, when it has yielded what the journals had when it began.
func UntilNow() WatchOption { return func(t *watchOptions) { t.untilNow = true } }

// OfTenant yields the changes of a tenant's resources, instead of those of no tenant; "*" those of all tenants, and of
// none. The field Tenant of the lease says whose a change is. The pattern matches the name, in which the tenant is not.
// A [Position] is the same for all tenants. Without the option, a client has that of [Tenant].
func OfTenant(account string) WatchOption { return func(t *watchOptions) { t.tenant = account } }

// newWatchOptions returns the options of a watch of a client that is of this tenant.
func newWatchOptions(tenant string, opts []WatchOption) (t watchOptions, err error) {
	t.tenant = tenant
	for _, o := range opts {
		if o == nil {
			return t, rule("option", "not nil", "nil")
		}
		o(&t)
	}
	wrong := slices.IndexFunc(t.kinds, func(k EventKind) bool { return k < EventAcquired || k > EventUpdated })
	switch {
	case t.bookmarked && t.bookmarks <= 0:
		err = rule("bookmarks", "a positive duration", t.bookmarks.String())
	case t.present && t.since != nil:
		err = rule("present", "without since: one is about what is, the other about what was", "both")
	case wrong >= 0:
		err = rule("kinds", "those of changes", t.kinds[wrong].String())
	case t.tenant != "" && t.tenant != messages.AllTenants:
		err = messages.CheckTenant(t.tenant)
	}
	return t, err
}

// loop returns the options of a loop over what is selected.
func (t *watchOptions) loop(s watch.Selection) watch.Options {
	return watch.Options{
		Selection: s, From: t.from, Since: t.since, Present: t.present, UntilNow: t.untilNow, Bookmarks: t.bookmarks,
		Wants: func(k messages.Event_Kind) bool { return len(t.kinds) == 0 || slices.Contains(t.kinds, EventKind(k)) },
	}
}
