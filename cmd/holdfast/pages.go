package main

import (
	"context"
	"io"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/messages"
)

// opList names the listing among the operations. It does not concern a single resource.
const opList messages.Operation = "list"

// pages requests one page after the other and passes its leases to take. With --json a refusal is written to w.
func (l *list) pages(ctx context.Context, w io.Writer, take func([]*messages.Lease) error) error {
	next := &messages.ListRequest{Pattern: l.pattern.key}
	for left := l.limit.Value; ; {
		next.Limit = messages.MaxListLimit
		if left > 0 {
			next.Limit = uint32(min(left, int(messages.MaxListLimit)))
		}
		page, err := l.page(ctx, w, next)
		if err != nil {
			return err
		}
		leases := page.GetLeases()[:min(len(page.GetLeases()), int(next.Limit))]
		if err := take(leases); err != nil {
			return err
		}
		switch {
		case page.GetNext() == "" || l.limit.Value > 0 && left <= len(leases):
			return nil
		case page.GetNext() == next.GetAfter():
			return exit.Errorf(exit.Unexpected, "the node returned the same page twice: cannot continue after %s", display.Name(page.GetNext()))
		}
		left -= len(leases)
		next.After = page.GetNext()
	}
}

func (l *list) page(ctx context.Context, w io.Writer, r *messages.ListRequest) (*messages.ListReply, error) {
	page := &messages.ListReply{}
	refusal, err := l.asker.page(ctx, question{
		op: opList, subject: messages.Prefix(l.connection.Prefix).List(), message: func(time.Duration) proto.Message { return r },
	}, page)
	if err != nil || refusal == nil {
		return page, err
	}
	a := answer{op: opList, Reply: refusal}
	return nil, a.print(w, l.json)
}

const (
	// mostAsked bounds the number of resources for which WAITING is requested. It is one page.
	mostAsked = 1000
	// askedAtOnce bounds the number of concurrent requests.
	askedAtOnce = 16
	// waitingTime bounds all of them together.
	waitingTime = time.Second
)

// waiting returns the number of waiting requests for each lease's resource, -1 where it is unknown.
func (l *list) waiting(ctx context.Context, leases []*messages.Lease) []int {
	counts := make([]int, len(leases))
	for i := range counts {
		counts[i] = -1
	}
	if len(leases) > mostAsked {
		return counts
	}
	ctx, cancel := context.WithTimeout(ctx, min(waitingTime, l.connection.Timeout.Duration))
	defer cancel()
	next := make(chan int, len(leases))
	for i := range leases {
		next <- i
	}
	close(next)
	var all sync.WaitGroup
	for range askedAtOnce {
		all.Go(func() {
			for i := range next {
				counts[i] = l.waitingFor(ctx, leases[i].GetResource())
			}
		})
	}
	all.Wait()
	return counts
}

func (l *list) waitingFor(ctx context.Context, resource string) int {
	key, err := messages.EncodeKey(resource)
	if err != nil {
		return -1
	}
	x := l.asker.sender.Exchange(request.Request{
		Op: messages.OpGet, Key: key, Message: func() proto.Message { return &messages.GetRequest{Stale: true} },
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
