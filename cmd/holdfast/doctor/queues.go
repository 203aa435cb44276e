package doctor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

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
	// mostListed is how many requests of a queue a listing has at most. mostCounted bounds for how many of these queues the
	// nodes are asked for the number.
	mostListed, mostCounted = 100, 100
)

// queue is a resource with the number of its waiting requests at each look.
type queue struct {
	resource    cli.Resource
	lengths     []int
	first, last time.Time
}

// queues looks for queues that grow at each look, for those that are nearly full, and for losses that are not confirmed.
func (p *patient) queues(ctx context.Context, r *Result) {
	p.list(ctx)
	if p.unlisted(r) {
		return
	}
	r.see("%s among %s", display.Count(len(p.locks.queues), "queue"), p.locks.among())
	for _, l := range p.locks.unconfirmed {
		r.unconfirmed(l)
	}
	longest, err := p.longest(ctx)
	for look := 0; err == nil && len(longest) > 0 && look < looks; look++ {
		if look > 0 && !connect.Pause(ctx, lookEvery) {
			err = errNoAnswer
			break
		}
		err = p.measureAll(ctx, longest)
	}
	if err != nil {
		r.unanswered("the question how many requests wait for a lock", err)
	}
	for _, q := range longest {
		p.judge(r, q)
	}
}

// longest returns the queues with the most requests.
func (p *patient) longest(ctx context.Context) ([]*queue, error) {
	l := p.locks
	for _, of := range l.byLength()[:min(len(l.queues), mostCounted)] {
		if l.queues[of] < mostListed {
			break
		}
		n, err := p.waiting(ctx, of)
		if err != nil {
			return nil, err
		}
		l.queues[of] = n
	}
	var longest []*queue
	for _, of := range l.byLength()[:min(len(l.queues), mostNamed)] {
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
func (p *patient) measureAll(ctx context.Context, all []*queue) error {
	for _, q := range all {
		n, err := p.waiting(ctx, q.resource)
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
func (p *patient) waiting(ctx context.Context, of cli.Resource) (int, error) {
	reply, err := p.look(ctx, of, &messages.GetRequest{Stale: true})
	return int(reply.GetWaiting()), err
}

// judge judges a queue by its lengths.
func (p *patient) judge(r *Result, q *queue) {
	if len(q.lengths) == 0 {
		return
	}
	first, last := q.lengths[0], q.lengths[len(q.lengths)-1]
	most := 0
	for _, n := range p.nodes {
		most = max(most, n.MaxQueue)
	}
	name, see := q.resource.String(), "holdfast get "+display.Name(q.resource.Name)+" --waiters"+cli.TenantFlag(q.resource.Tenant)
	switch {
	case most > 0 && float64(last) >= nearLimit*float64(most):
		r.warn(fmt.Sprintf("the queue of %s is nearly full: %d requests wait, of at most %d", name, last, most),
			"beyond that its requests are answered OVERLOADED",
			fmt.Sprintf("see who holds it and who waits with %s; hold it for less time, divide it, or raise --max-queue", see))
	case last >= longQueue && len(q.lengths) == looks && slices.IsSortedFunc(q.lengths, strictly):
		r.warn(fmt.Sprintf("the queue of %s grows: %d requests wait, %d more than %s before", name, last, last-first, short(q.last.Sub(q.first))),
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
	r.warn(fmt.Sprintf("%s is held back until the loss of %s, token %d, is confirmed", of, display.Quote(l.GetOwner()), l.GetToken()),
		"requests for it wait until then",
		fmt.Sprintf("run holdfast fence-agent%s; or stop the holder, and then: holdfast confirm %s --token %d%s",
			cli.TenantFlag(of.Tenant), display.Name(of.Name), l.GetToken(), cli.TenantFlag(of.Tenant)))
}
