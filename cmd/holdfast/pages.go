package main

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/messages"
)

// opList names the listing among the operations. It does not concern a single resource.
const opList messages.Operation = "list"

// pages requests one page after the other and passes its leases to take. With --json a refusal is written to w.
func (l *list) pages(ctx context.Context, nc *nats.Conn, w io.Writer, take func([]*messages.Lease) error) error {
	request := &messages.ListRequest{Pattern: l.pattern.key}
	for left := l.limit.Value; ; {
		request.Limit = messages.MaxListLimit
		if left > 0 {
			request.Limit = uint32(min(left, int(messages.MaxListLimit)))
		}
		page, err := l.page(ctx, nc, w, request)
		if err != nil {
			return err
		}
		leases := page.GetLeases()[:min(len(page.GetLeases()), int(request.Limit))]
		if err := take(leases); err != nil {
			return err
		}
		switch {
		case page.GetNext() == "" || l.limit.Value > 0 && left <= len(leases):
			return nil
		case page.GetNext() == request.GetAfter():
			return exit.Errorf(exit.Unexpected, "the node returned the same page twice: cannot continue after %s", display.Name(page.GetNext()))
		}
		left -= len(leases)
		request.After = page.GetNext()
	}
}

func (l *list) page(ctx context.Context, nc *nats.Conn, w io.Writer, r *messages.ListRequest) (*messages.ListReply, error) {
	page := &messages.ListReply{}
	reply, err := ask(ctx, &l.connection, nc, question{
		op: opList, page: page, message: func(time.Duration) proto.Message { return r },
	})
	if err != nil || !didNothing(reply.GetStatus()) {
		return page, err
	}
	a := answer{op: opList, Reply: reply}
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
func (l *list) waiting(ctx context.Context, nc *nats.Conn, leases []*messages.Lease) []int {
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
				counts[i] = l.waitingFor(ctx, nc, leases[i].GetResource())
			}
		})
	}
	all.Wait()
	return counts
}

func (l *list) waitingFor(ctx context.Context, nc *nats.Conn, resource string) int {
	key, err := messages.EncodeKey(resource)
	if err != nil {
		return -1
	}
	payload, err := messages.Encode(messages.Protobuf, &messages.GetRequest{Stale: true})
	if err != nil {
		return -1
	}
	m, err := nc.RequestWithContext(ctx, messages.Prefix(l.connection.Prefix).Operation(messages.OpGet, key), payload)
	if err != nil {
		return -1
	}
	var reply messages.Reply
	if messages.DecodeReply(messages.Protobuf, m.Data, &reply) != nil || didNothing(reply.GetStatus()) {
		return -1
	}
	return int(reply.GetWaiting())
}
