package holdfast

import (
	"context"
	"iter"

	"github.com/holdfast-io/holdfast/messages"
)

// List returns the leases that are held now of resources whose key the pattern selects: `*` stands for
// one level of the name, `>` for the rest; empty selects all. See docs/wire.md for how a key is written.
// Each page is as of when it was asked for. An error is the last thing that it yields.
func (c *Client) List(ctx context.Context, pattern string) iter.Seq2[*Lease, error] {
	return func(yield func(*Lease, error) bool) {
		after := ""
		for {
			page, err := c.page(ctx, &messages.ListRequest{Pattern: pattern, After: after, Limit: messages.MaxListLimit})
			if err != nil {
				yield(nil, err)
				return
			}
			for _, l := range page.GetLeases() {
				if !yield(newLease(l), nil) {
					return
				}
			}
			if after = page.GetNext(); after == "" {
				return
			}
		}
	}
}

func (c *Client) page(ctx context.Context, r *messages.ListRequest) (*messages.ListReply, error) {
	if err := checkContext(ctx, opList, ""); err != nil {
		return nil, err
	}
	if err := messages.DefaultLimits().Check(r); err != nil {
		return nil, invalid(opList, "", err)
	}
	var page messages.ListReply
	if err := c.calls.askAbout(ctx, opList, c.cfg.prefix.List(), r, &page); err != nil {
		return nil, err
	}
	return &page, nil
}
