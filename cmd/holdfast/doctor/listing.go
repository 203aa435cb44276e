package doctor

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/ask"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// maxLeases bounds a listing.
	maxLeases = 100_000
	// maxNamed bounds how many resources are named in findings of one kind.
	maxNamed = 10
	// pageTimeout bounds the request for one page. A node may wait 5 seconds for the owners of the shards.
	pageTimeout = 6 * time.Second
)

// list reads the leases that are held, and then the lost ones that hold their resources back: of all tenants, and of
// none.
func (d *deployment) list(ctx context.Context) {
	l := &d.locks
	l.queues = make(map[cli.Resource]int)
	l.err = d.pages(ctx, false, l.addHeld)
	if l.err == nil && slices.Contains(d.info.GetFeatures(), messages.FeatureDelay) {
		l.err = d.pages(ctx, true, l.addLost)
	}
}

// pages passes the pages of a listing to add.
func (d *deployment) pages(ctx context.Context, heldBack bool, add func(*messages.ListReply)) error {
	r := &messages.ListRequest{Waiters: true, HeldBack: heldBack, Tenant: d.tenants()}
	more := false
	for page, err := range ask.Pages(r, maxLeases, func(r *messages.ListRequest) (*messages.ListReply, error) {
		page := &messages.ListReply{}
		return page, d.caller.Ask(ctx, pageTimeout, d.cfg.Prefix.List(), r, page)
	}) {
		if err != nil {
			d.locks.partial = true
			return err
		}
		add(page)
		more = page.GetNext() != ""
	}
	d.locks.partial = d.locks.partial || more
	return nil
}

// tenants returns whose locks a listing has to name: those of all tenants, if the deployment has some.
func (d *deployment) tenants() string {
	if slices.Contains(d.info.GetFeatures(), messages.FeatureTenants) {
		return messages.AllTenants
	}
	return ""
}

// addHeld adds a page of leases that are held.
func (l *locks) addHeld(page *messages.ListReply) {
	l.contended.Add(page)
	for _, q := range page.GetQueues() {
		l.queues[cli.ResourceOf(q)] = len(q.GetWaiters())
	}
	for _, lease := range page.GetLeases() {
		l.leases++
		if lastToken(lease) >= messages.WarnToken && len(l.late) < maxNamed {
			l.late = append(l.late, lease)
		}
	}
}

// lastToken returns the highest token of a lease.
func lastToken(l *messages.Lease) messages.Token {
	return messages.Token(l.GetToken()).Last(l.GetTokens())
}

// addLost adds a page of leases that hold their resources back.
func (l *locks) addLost(page *messages.ListReply) {
	for _, q := range page.GetQueues() {
		l.queues[cli.ResourceOf(q)] = len(q.GetWaiters())
	}
	for _, lease := range page.GetLeases() {
		if lease.GetRemainingMs() == 0 && len(l.unconfirmed) < maxNamed {
			l.unconfirmed = append(l.unconfirmed, lease)
		}
	}
}

// unlisted notes what is not in the listing and why, and reports whether the listing has nothing.
func (d *deployment) unlisted(r *Result) bool {
	if d.locks.err == nil {
		return false
	}
	refused, is := errors.AsType[*ask.RefusedError](d.locks.err)
	if is && refused.GetStatus() == messages.Status_INVALID && len(absent(d.info)) > 0 {
		r.hidden("nodes of the version of this command")
	} else {
		r.unanswered("each request on "+d.cfg.Prefix.List(), d.locks.err)
	}
	return d.locks.leases == 0
}

// among returns how many leases were examined.
func (l *locks) among() string {
	if l.partial {
		return "the first " + display.Count(l.leases, "lease")
	}
	return display.Count(l.leases, "lease")
}
