package holdfast

import (
	"context"
	"iter"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// Waiter is a request that waits in a queue. Durations are as of the answer.
type Waiter struct {
	Owner string
	// Limit is how many permits may be held while it holds; 0: it wants to be the only holder.
	Limit uint32
	// Permits is how many it waits for, at least 1.
	Permits int
	// Waiting is since when it waits, at the present owner of the shard. Left is how long it waits yet at most; a
	// client that is there asks again before.
	Waiting, Left time.Duration
}

func newWaiters(all []*messages.Waiter) (waiters []Waiter) {
	for _, w := range all {
		waiters = append(waiters, Waiter{
			Owner: w.GetOwner(), Limit: w.GetLimit(), Permits: int(w.GetPermits()),
			Waiting: millis(w.GetWaitingMs()), Left: millis(w.GetLeftMs()),
		})
	}
	return waiters
}

// Queue is who waits for a resource.
type Queue struct {
	Resource string
	// Waiters are in their order, at most the first 100. Rankings leave them out.
	Waiters []Waiter
	// Waiting is how many requests wait, Oldest how long the first of them has waited at the present owner of the shard.
	// A deployment without rankings counts no more than the waiters.
	Waiting int
	Oldest  time.Duration
	// Holder is the oldest lease of the resource in a ranking. nil: nobody holds it, as after a loss, or it is no ranking.
	Holder *Lease
}

func newQueue(q *messages.Queue) *Queue {
	return &Queue{
		Resource: q.GetResource(), Waiters: newWaiters(q.GetWaiters()),
		Waiting: max(int(q.GetWaiting()), len(q.GetWaiters())), Oldest: millis(q.GetOldestMs()),
	}
}

// Queues returns the queues of the resources that are held now and whose key the pattern selects, as in [Client.List],
// if anything waits there. It is what the nodes have in their memories, unconfirmed. An error is the last thing that it
// yields: [ErrInvalid] also if the deployment does not show who waits.
func (c *Client) Queues(ctx context.Context, pattern string) iter.Seq2[*Queue, error] {
	return func(yield func(*Queue, error) bool) {
		last := ""
		pages := c.pages(ctx, &messages.ListRequest{Pattern: pattern, Waiters: true}, sharingFeature)
		items(pages, (*messages.ListReply).GetQueues, func(q *messages.Queue) *Queue {
			if q.GetResource() == last {
				return nil // its leases are on several pages
			}
			last = q.GetResource()
			return newQueue(q)
		})(yield)
	}
}
