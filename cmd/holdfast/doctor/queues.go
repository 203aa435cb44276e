package doctor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/messages"
)

// maxListed is how many requests of a queue a listing has at most. maxCounted bounds how many of these queues are
// counted.
const maxListed, maxCounted = 100, 100

// queues looks for queues that are nearly full, and for losses that are not confirmed.
func (d *deployment) queues(ctx context.Context, r *Result) {
	d.list(ctx)
	if d.unlisted(r) {
		return
	}
	r.see("%s among %s", display.Count(len(d.locks.queues), "queue"), d.locks.among())
	for _, l := range d.locks.unconfirmed {
		r.unconfirmed(l)
	}
	if err := d.count(ctx); err != nil {
		r.unanswered("the question how many requests wait for a lock", err)
	}
	limit := 0
	for _, n := range d.nodes {
		limit = max(limit, n.MaxQueue)
	}
	longest := d.locks.byLength()
	for _, of := range longest[:min(len(longest), maxNamed)] {
		if n := d.locks.queues[of]; limit > 0 && float64(n) >= nearLimit*float64(limit) {
			r.nearlyFull(of, n, limit)
		}
	}
}

// count counts the requests of the queues that may be longer than a listing shows.
func (d *deployment) count(ctx context.Context) error {
	l := d.locks
	for _, of := range l.byLength()[:min(len(l.queues), maxCounted)] {
		if l.queues[of] < maxListed {
			break
		}
		reply, err := d.get(ctx, of, &messages.GetRequest{Stale: true})
		if err != nil {
			return err
		}
		l.queues[of] = int(reply.GetWaiting())
	}
	return nil
}

// byLength returns the resources for which requests wait, that with the most requests first.
func (l *locks) byLength() []cli.Resource {
	return slices.SortedFunc(maps.Keys(l.queues), func(a, b cli.Resource) int {
		return cmp.Or(cmp.Compare(l.queues[b], l.queues[a]), a.Compare(b))
	})
}

func (r *Result) nearlyFull(of cli.Resource, n, limit int) {
	r.warn(fmt.Sprintf("the queue of %s is nearly full: %d requests wait, of at most %d", of, n, limit),
		"beyond that its requests are answered OVERLOADED",
		fmt.Sprintf("see who holds it and who waits with holdfast get %s --waiters%s; hold it for less time, divide it, "+
			"or raise --max-queue", display.Name(of.Name), cli.TenantFlag(of.Tenant)))
}

// unconfirmed is the finding of a lost lease that holds its resource back until its loss is confirmed.
func (r *Result) unconfirmed(l *messages.Lease) {
	of := cli.ResourceOf(l)
	r.warn(fmt.Sprintf("%s is held back until the loss of %s, token %d, is confirmed", of, display.Quote(l.GetOwner()),
		l.GetToken()),
		"requests for it wait until then",
		fmt.Sprintf("run holdfast fence-agent%s; or stop the holder, and then: holdfast confirm %s --token %d%s",
			cli.TenantFlag(of.Tenant), display.Name(of.Name), l.GetToken(), cli.TenantFlag(of.Tenant)))
}
