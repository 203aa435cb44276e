package commands

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/messages"
)

// The operations that do not concern a single resource.
const (
	opList messages.Operation = "list"
	opInfo messages.Operation = "info"
)

// pages requests one page after the other and passes each to take. With --json a refusal is written to w.
func (l *list) pages(ctx context.Context, w io.Writer, take func(*messages.ListReply) error) error {
	next := &messages.ListRequest{Pattern: l.pattern.Key, Waiters: l.waiters, HeldBack: l.heldBack, Tenant: l.connection.Tenant}
	for left := l.limit.Value; ; {
		next.Limit = messages.MaxListLimit
		if left > 0 {
			next.Limit = uint32(min(left, int(messages.MaxListLimit)))
		}
		page, err := l.page(ctx, w, next)
		if err != nil {
			return err
		}
		page.Leases = page.GetLeases()[:min(len(page.GetLeases()), int(next.Limit))]
		if err := take(page); err != nil {
			return err
		}
		switch {
		case page.GetNext() == "" || l.limit.Value > 0 && left <= len(page.GetLeases()):
			return nil
		case page.GetNext() == next.GetAfter():
			return exit.Errorf(exit.Unexpected, "the node returned the same page twice: cannot continue after %s", messages.Spoken(page.GetNext()))
		}
		left -= len(page.GetLeases())
		next.After = page.GetNext()
	}
}

// all returns the leases of all pages with their queues.
func (l *list) all(ctx context.Context, w io.Writer) (*listing, error) {
	all := &listing{queues: make(map[cli.Resource][]*messages.Waiter), lost: l.heldBack}
	err := l.pages(ctx, w, func(page *messages.ListReply) error {
		all.leases = append(all.leases, page.GetLeases()...)
		for _, q := range page.GetQueues() {
			all.queues[cli.ResourceOf(q)] = q.GetWaiters()
		}
		return nil
	})
	return all, err
}

func (l *list) page(ctx context.Context, w io.Writer, r *messages.ListRequest) (*messages.ListReply, error) {
	page := &messages.ListReply{}
	refusal, err := l.asker.page(ctx, question{
		op: opList, needs: needsOf(r), subject: messages.Prefix(l.connection.Prefix).List(), message: func(time.Duration) proto.Message { return r },
	}, page)
	if err != nil || refusal == nil {
		return page, err
	}
	a := answer{op: opList, Reply: refusal}
	return nil, a.print(w, l.json)
}

// needsOf returns the features that a listing needs.
func needsOf(r *messages.ListRequest) (features []string) {
	if r.GetWaiters() {
		features = append(features, messages.FeatureSharing)
	}
	if r.GetHeldBack() {
		features = append(features, messages.FeatureDelay)
	}
	if r.GetTenant() != "" {
		features = append(features, messages.FeatureTenants)
	}
	return features
}

const (
	// mostAsked bounds the number of resources for which WAITING is requested. It is one page.
	mostAsked = 1000
	// askedAtOnce bounds the number of concurrent requests.
	askedAtOnce = 16
	// waitingTime bounds all of them together.
	waitingTime = time.Second
)

// waiting returns the number of waiting requests for the resource of each lease; without those that are unknown.
func (l *list) waiting(ctx context.Context, rows []row) map[cli.Resource]int {
	var resources []cli.Resource
	for _, r := range rows {
		if r.lease != nil {
			resources = append(resources, cli.ResourceOf(r.lease))
		}
	}
	resources = slices.Compact(resources) // the rows are sorted
	counts := make(map[cli.Resource]int)
	if len(resources) > mostAsked {
		return counts
	}
	ctx, cancel := context.WithTimeout(ctx, min(waitingTime, l.connection.Timeout.Duration))
	defer cancel()
	places := make(chan struct{}, askedAtOnce)
	var all sync.WaitGroup
	var mu sync.Mutex
	for _, r := range resources {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			if n := l.waitingFor(ctx, r); n >= 0 {
				mu.Lock()
				defer mu.Unlock()
				counts[r] = n
			}
		})
	}
	all.Wait()
	return counts
}

// waitingFor returns -1 if the number is unknown.
func (l *list) waitingFor(ctx context.Context, r cli.Resource) int {
	key, err := messages.EncodeKey(r.Name)
	if err != nil {
		return -1
	}
	x := l.asker.sender.Exchange(request.Request{
		Subject: l.connection.SubjectsOf(r.Tenant).Operation(messages.OpGet, key), Message: func() proto.Message { return &messages.GetRequest{Stale: true} },
	})
	defer x.Finish()
	a, err := x.Run(ctx)
	if err != nil {
		return -1
	}
	reply, err := a.Reply()
	if err != nil || isRefusal(reply.GetStatus()) {
		return -1
	}
	return int(reply.GetWaiting())
}
