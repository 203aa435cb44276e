package doctor

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/deadlock"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// mostLeases bounds a listing.
	mostLeases = 100_000
	// mostNamed bounds how many resources are named in findings of one kind.
	mostNamed = 10
	// pageTimeout bounds the request for one page. A node may wait 5 seconds for the owners of the shards.
	pageTimeout = 6 * time.Second
)

// locks are what the listings show.
type locks struct {
	// contended are the held resources for which requests wait.
	contended []deadlock.Contended
	// queues are the numbers of waiting requests, by the resource, as far as they were listed or counted.
	queues map[cli.Resource]int
	// late are leases whose tokens are near the end, unconfirmed those that hold a resource back until their loss is confirmed;
	// at most [mostNamed] of each.
	late, unconfirmed []*messages.Lease
	// leases is how many held ones were listed; partial: there are more.
	leases  int
	partial bool
	// last is the resource at the end of a page, whose leases may continue on the next one.
	last deadlock.Contended
	// err is why the listing ended early.
	err error
}

// list reads the leases that are held, and then the lost ones that hold their resources back: of all tenants, and of none.
func (p *patient) list(ctx context.Context) {
	l := &p.locks
	l.queues = make(map[cli.Resource]int)
	l.err = p.pages(ctx, false, l.takeHeld)
	l.keep()
	if l.err == nil && slices.Contains(p.info.GetFeatures(), messages.FeatureDelay) {
		l.err = p.pages(ctx, true, l.takeLost)
	}
}

// pages passes the pages of a listing to take.
func (p *patient) pages(ctx context.Context, heldBack bool, take func(*messages.ListReply)) error {
	next := &messages.ListRequest{Waiters: true, HeldBack: heldBack}
	if slices.Contains(p.info.GetFeatures(), messages.FeatureTenants) {
		next.Tenant = messages.AllTenants
	}
	for left := mostLeases; left > 0; {
		next.Limit = min(uint32(left), messages.MaxListLimit)
		page := &messages.ListReply{}
		if err := p.asker.askWithin(ctx, pageTimeout, p.cfg.Prefix.List(), next, page); err != nil {
			p.locks.partial = true
			return err
		}
		take(page)
		if next.After = page.GetNext(); next.After == "" {
			return nil
		}
		left -= len(page.GetLeases())
	}
	p.locks.partial = true
	return nil
}

// takeHeld takes a page of leases that are held.
func (l *locks) takeHeld(page *messages.ListReply) {
	queues := make(map[cli.Resource][]*messages.Waiter)
	for _, q := range page.GetQueues() {
		queues[cli.ResourceOf(q)] = q.GetWaiters()
		l.queues[cli.ResourceOf(q)] = len(q.GetWaiters())
	}
	for _, lease := range page.GetLeases() {
		l.leases++
		if messages.Token(lease.GetToken()) >= messages.WarnToken && len(l.late) < mostNamed {
			l.late = append(l.late, lease)
		}
		if of := cli.ResourceOf(lease); of != (cli.Resource{Name: l.last.Resource, Tenant: l.last.Tenant}) {
			l.keep()
			l.last = deadlock.Contended{Tenant: of.Tenant, Resource: of.Name}
		}
		l.last.Leases, l.last.Waiters = append(l.last.Leases, lease), queues[cli.ResourceOf(lease)]
	}
}

// keep keeps the last resource if requests wait for it.
func (l *locks) keep() {
	if len(l.last.Waiters) > 0 {
		l.contended = append(l.contended, l.last)
	}
}

// takeLost takes a page of leases that hold their resources back.
func (l *locks) takeLost(page *messages.ListReply) {
	for _, q := range page.GetQueues() {
		l.queues[cli.ResourceOf(q)] = len(q.GetWaiters())
	}
	for _, lease := range page.GetLeases() {
		if lease.GetRemainingMs() == 0 && len(l.unconfirmed) < mostNamed {
			l.unconfirmed = append(l.unconfirmed, lease)
		}
	}
}

// unlisted notes what is not in the listing and why, and reports whether there is none.
func (p *patient) unlisted(r *Result) bool {
	if p.locks.err == nil {
		return false
	}
	if refused, is := errors.AsType[*refusedError](p.locks.err); is && refused.GetStatus() == messages.Status_INVALID && len(p.absent()) > 0 {
		r.hidden("nodes of the version of this command")
	} else {
		r.unanswered("each request on "+p.cfg.Prefix.List(), p.locks.err)
	}
	return p.locks.leases == 0
}

// among says how many leases were looked at.
func (l *locks) among() string {
	if l.partial {
		return "the first " + display.Count(l.leases, "lease")
	}
	return display.Count(l.leases, "lease")
}
