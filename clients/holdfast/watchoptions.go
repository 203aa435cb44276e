package holdfast

import (
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast/internal/watch"
	"github.com/holdfast-io/holdfast/messages"
)

// WatchOption says where a [Client.Watch] begins and what it yields.
type WatchOption func(*watchOptions)

// watchOptions are what a watch is asked for. bookmarked: how often bookmarks come was given.
type watchOptions struct {
	watch.Options
	bookmarked bool
}

// From goes on behind a position. The zero one is as if it were not given, so that what was saved can be
// passed on also the first time.
func From(p Position) WatchOption { return func(o *watchOptions) { o.From = p } }

// Since begins with the changes made at t or later, by the clocks of the nodes. If the journal does not
// go back so far, the watch ends with a [CompactedError], whose Oldest is where to begin then. It
// does not count if there is a position to go on [From].
func Since(t time.Time) WatchOption { return func(o *watchOptions) { o.Since = &t } }

// Present yields first the leases that are held, as [EventPresent], then a bookmark, and then every change since. A
// lease that was there comes once, and a change that is in it already does not come again. Reading that
// takes as long as a node takes to open the shards. Ephemeral leases are not among them, as they are
// never events. It does not count if there is a position to go on [From]: then the holders came
// before.
func Present() WatchOption { return func(o *watchOptions) { o.Present = true } }

// Kinds leaves out the changes of other kinds: renewals, [EventExtended], are the most frequent by far.
func Kinds(kinds ...EventKind) WatchOption {
	return func(o *watchOptions) {
		for _, k := range kinds {
			o.Kinds = append(o.Kinds, messages.Event_Kind(k))
		}
	}
}

// Bookmarks yields a position with an [EventBookmark] as soon as the watch stands, from which on nothing
// is left out, and again each time that it has come further without an event for this duration. A watch of
// few of many resources that is to be continued later needs that: a position that is as old as the last
// event may have been compacted.
func Bookmarks(every time.Duration) WatchOption {
	return func(o *watchOptions) { o.Bookmarks, o.bookmarked = every, true }
}

// UntilNow ends the watch, without an error, when it has yielded what the journals had when it began.
func UntilNow() WatchOption { return func(o *watchOptions) { o.UntilNow = true } }

// OfTenant yields the changes of a tenant's resources, instead of those of no tenant; "*" those of all tenants, and of
// none. The field Tenant of the lease says whose a change is. The pattern matches the name, in which the tenant is not.
// A [Position] is the same for all tenants. Without the option, a client has that of [Tenant].
func OfTenant(account string) WatchOption { return func(o *watchOptions) { o.Tenant = account } }

// newWatchOptions returns the options of a watch: these, and what opts add.
func newWatchOptions(common watch.Options, opts []WatchOption) (watch.Options, error) {
	o := watchOptions{Options: common}
	for _, set := range opts {
		if set == nil {
			return o.Options, rule("option", "not nil", "nil")
		}
		set(&o)
	}
	return o.Options, o.check()
}

func (o *watchOptions) check() error {
	wrong := slices.IndexFunc(o.Kinds, func(k messages.Event_Kind) bool {
		return EventKind(k) < EventAcquired || EventKind(k) > EventUpdated
	})
	switch {
	case o.bookmarked && o.Bookmarks <= 0:
		return rule("bookmarks", "a positive duration", o.Bookmarks.String())
	case o.Present && o.Since != nil:
		return rule("present", "without since: one is about what is, the other about what was", "both")
	case wrong >= 0:
		return rule("kinds", "those of changes", EventKind(o.Kinds[wrong]).String())
	case o.Tenant != "" && o.Tenant != messages.AllTenants:
		return messages.CheckTenant(o.Tenant)
	}
	return nil
}
