package doctor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/ask"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// longQueue is the number of waiting requests from which it matters that a queue grows.
	longQueue = 10
	// looks is how often a queue is counted, lookEvery how often.
	looks     = 3
	lookEvery = 500 * time.Millisecond
	// maxListed is how many requests of a queue a listing has at most. maxCounted bounds how many of these queues are
	// counted.
	maxListed, maxCounted = 100, 100
)

// queue is a resource with the number of its waiting requests at each look.
type queue struct {
	resource    cli.Resource
	lengths     []int
	first, last time.Time
}

// queues looks for queues that grow at each look, for those that are nearly full, and for losses that are not
// confirmed.
func (d *deployment) queues(ctx context.Context, r *Result) {
	d.list(ctx)
	if d.unlisted(r) {
		return
	}
	r.see("%s among %s", display.Count(len(d.locks.queues), "queue"), d.locks.among())
	for _, l := range d.locks.unconfirmed {
		r.unconfirmed(l)
	}
	longest, err := d.longest(ctx)
	for look := 0; err == nil && len(longest) > 0 && look < looks; look++ {
		if look > 0 && !connect.Pause(ctx, lookEvery) {
			err = ask.ErrNoAnswer
			break
		}
		err = d.measureAll(ctx, longest)
	}
	if err != nil {
		r.unanswered("the question how many requests wait for a lock", err)
	}
	for _, q := range longest {
		d.judge(r, q)
	}
}

// longest returns the queues with the most requests.
func (d *deployment) longest(ctx context.Context) ([]*queue, error) {
	l := d.locks
	for _, of := range l.byLength()[:min(len(l.queues), maxCounted)] {
		if l.queues[of] < maxListed {
			break
		}
		n, err := d.waiting(ctx, of)
		if err != nil {
			return nil, err
		}
		l.queues[of] = n
	}
	var longest []*queue
	for _, of := range l.byLength()[:min(len(l.queues), maxNamed)] {
		longest = append(longest, &queue{resource: of})
	}
	return longest, nil
}

// byLength returns the resources for which requests wait, that with the most requests first.
func (l *locks) byLength() []cli.Resource {
	return slices.SortedFunc(maps.Keys(l.queues), func(a, b cli.Resource) int {
		return cmp.Or(cmp.Compare(l.queues[b], l.queues[a]), a.Compare(b))
	})
}

// measureAll takes one look at each queue.
func (d *deployment) measureAll(ctx context.Context, all []*queue) error {
	for _, q := range all {
		n, err := d.waiting(ctx, q.resource)
		if err != nil {
			return err
		}
		q.last, q.lengths = time.Now(), append(q.lengths, n)
		if q.first.IsZero() {
			q.first = q.last
		}
	}
	return nil
}

// waiting returns how many requests wait for a resource.
func (d *deployment) waiting(ctx context.Context, of cli.Resource) (int, error) {
	reply, err := d.get(ctx, of, &messages.GetRequest{Stale: true})
	return int(reply.GetWaiting()), err
}

// judge judges a queue by its lengths.
func (d *deployment) judge(r *Result, q *queue) {
	if len(q.lengths) == 0 {
		return
	}
	first, last := q.lengths[0], q.lengths[len(q.lengths)-1]
	limit := 0
	for _, n := range d.nodes {
		limit = max(limit, n.MaxQueue)
	}
	name, see := q.resource.String(), "holdfast get "+display.Name(q.resource.Name)+" --waiters"+
		cli.TenantFlag(q.resource.Tenant)
	switch {
	case limit > 0 && float64(last) >= nearLimit*float64(limit):
		r.warn(fmt.Sprintf("the queue of %s is nearly full: %d requests wait, of at most %d", name, last, limit),
			"beyond that its requests are answered OVERLOADED",
			fmt.Sprintf(
				"see who holds it and who waits with %s; hold it for less time, divide it, or raise --max-queue", see))
	case last >= longQueue && len(q.lengths) == looks && slices.IsSortedFunc(q.lengths, strictly):
		r.warn(fmt.Sprintf("the queue of %s grows: %d requests wait, %d more than %s before", name, last, last-first,
			short(q.last.Sub(q.first))),
			"requests come faster than the lock is released, so each waits longer than the one before",
			fmt.Sprintf("see who holds it with %s; hold it for less time, or divide it", see))
	}
}

// strictly orders numbers so that equal ones are not sorted.
func strictly(a, b int) int {
	if a <= b {
		return -1
	}
	return 1
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
