package access

import "strings"

// ClientTerms say what a client is for.
type ClientTerms struct {
	// User is its name, and Inbox what its inboxes begin with.
	User, Inbox string
	// Keys are patterns of the resources.
	Keys []string
	// Values: it changes the metadata of its leases. Sessions: it keeps many leases with one request. Listing: it lists all
	// locks. Batches: it sends many requests in one message.
	Values, Sessions, Listing, Batches bool
}

// Client returns a user that takes locks.
func (d Deployment) Client(t ClientTerms) User {
	u := User{Name: t.User, Role: "a client of " + strings.Join(t.Keys, " and ")}
	u.Rights = []Right{
		d.info(),
		{For: "locks", Publish: d.on(t.Keys, operations(useLocks, useLooks)...)},
	}
	if t.Values {
		u.Rights = append(u.Rights, Right{For: "metadata of its leases", Publish: d.on(t.Keys, operations(useValues)...)})
	}
	if t.Sessions {
		u.Rights = append(u.Rights, Right{For: "sessions; their ids are the right to keep them", Publish: d.on(everything, operations(useSessions)...)})
	}
	if t.Listing {
		u.Rights = append(u.Rights, d.listing())
		u.Warnings = append(u.Warnings, "it sees the names, owners and metadata of all locks")
	}
	if t.Batches {
		u.Rights = append(u.Rights, Right{For: "batches", Publish: []string{d.Prefix.BatchOfAll()}})
		u.Warnings = append(u.Warnings, "a batch may take, release, break and confirm every lock: its resources are in the payload")
	}
	u.Rights = append(u.Rights, answers(t.Inbox))
	d.hear(&u, "the end of its leases, at once", t.Keys)
	return u
}

// listing is the right to see all locks.
func (d Deployment) listing() Right {
	return Right{For: "listing", Publish: []string{d.Prefix.List()}}
}
