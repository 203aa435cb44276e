package holdfast

import (
	"context"
	"strconv"

	"github.com/holdfast-io/holdfast/messages"
)

// LongestQueues returns the resources for which most requests wait, of those whose key the pattern selects, as in
// [Client.List]: at most the first limit, 100 if that is 0. Resources that are held back after a loss are among them.
// It is what the nodes have in their memories, unconfirmed. [ErrInvalid]: limit is not from 0 to 1 000, or the
// deployment has no rankings.
func (c *Client) LongestQueues(ctx context.Context, pattern string, limit int) ([]*Queue, error) {
	return c.rankedQueues(ctx, messages.Ranking_QUEUE, pattern, limit)
}

// LongestWaits is [Client.LongestQueues] by the request that has waited longest.
func (c *Client) LongestWaits(ctx context.Context, pattern string, limit int) ([]*Queue, error) {
	return c.rankedQueues(ctx, messages.Ranking_WAIT, pattern, limit)
}

// LongestHolds returns the leases that were granted first of those that are held, otherwise as [Client.LongestQueues].
func (c *Client) LongestHolds(ctx context.Context, pattern string, limit int) (leases []*Lease, err error) {
	top, err := c.top(ctx, messages.Ranking_HOLD, pattern, limit)
	for _, l := range top.GetLeases() {
		leases = append(leases, newLease(l))
	}
	return leases, err
}

func (c *Client) rankedQueues(ctx context.Context, by messages.Ranking, pattern string, limit int) (queues []*Queue, err error) {
	top, err := c.top(ctx, by, pattern, limit)
	holders := make(map[string]*Lease)
	for _, l := range top.GetLeases() {
		holders[l.GetResource()] = newLease(l)
	}
	for _, q := range top.GetQueues() {
		queue := newQueue(q)
		queue.Holder = holders[queue.Resource]
		queues = append(queues, queue)
	}
	return queues, err
}

// top returns the answer to a ranking, nil with an error.
func (c *Client) top(ctx context.Context, by messages.Ranking, pattern string, limit int) (*messages.ListReply, error) {
	if limit < 0 || limit > int(messages.MaxListLimit) {
		return nil, invalid(opList, "", rule("limit of a ranking", "0 to "+strconv.Itoa(int(messages.MaxListLimit)), strconv.Itoa(limit)))
	}
	if err := c.deployment.need(ctx, opList, "", rankingFeature); err != nil {
		return nil, err
	}
	return c.page(ctx, &messages.ListRequest{By: by, Pattern: pattern, Limit: uint32(limit)})
}
