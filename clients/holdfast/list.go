package holdfast

import (
	"context"
	"iter"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// List returns the leases that are held now of resources whose key the pattern selects: `*` stands for
// one level of the name, `>` for the rest; empty selects all. See docs/wire.md for how a key is written.
// A resource has a lease for each of its holders. Each page is as of when it was asked for. An error is the last thing
// that it yields.
func (c *Client) List(ctx context.Context, pattern string) iter.Seq2[*Lease, error] {
	return items(c.pages(ctx, &messages.ListRequest{Pattern: pattern}), (*messages.ListReply).GetLeases, newLease)
}

// Lost returns the lost leases that hold back resources whose key the pattern selects, as in [Client.List]. Each page
// is as of when it was asked for. An error is the last thing that it yields: [ErrInvalid] also if the deployment holds
// nothing back.
func (c *Client) Lost(ctx context.Context, pattern string) iter.Seq2[*Loss, error] {
	pages := c.pages(ctx, &messages.ListRequest{Pattern: pattern, HeldBack: true}, delayFeature)
	return items(pages, (*messages.ListReply).GetLeases, listedLoss)
}

// items returns what made makes of each item on the pages, but for nil.
func items[E, T any](
	pages iter.Seq2[*messages.ListReply, error], on func(*messages.ListReply) []E, made func(E) *T,
) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for page, err := range pages {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, e := range on(page) {
				if item := made(e); item != nil && !yield(item, nil) {
					return
				}
			}
		}
	}
}

// pages returns the pages of a listing that needs these features. An error is the last thing that it yields.
func (c *Client) pages(
	ctx context.Context, of *messages.ListRequest, needs ...feature,
) iter.Seq2[*messages.ListReply, error] {
	return func(yield func(*messages.ListReply, error) bool) {
		if err := c.deployment.need(ctx, opList, "", needs...); err != nil {
			yield(nil, err)
			return
		}
		r := proto.CloneOf(of)
		r.Limit = messages.MaxListLimit
		for {
			page, err := c.page(ctx, r)
			if !yield(page, err) || err != nil || page.GetNext() == "" {
				return
			}
			r.After = page.GetNext()
		}
	}
}

func (c *Client) page(ctx context.Context, r *messages.ListRequest) (*messages.ListReply, error) {
	if err := messages.DefaultLimits().Check(r); err != nil {
		return nil, invalid(opList, "", err)
	}
	var page messages.ListReply
	if err := c.calls.askAbout(ctx, opList, c.cfg.prefix.List(), r, &page); err != nil {
		return nil, err
	}
	return &page, nil
}
