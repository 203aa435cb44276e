package holdfast

import (
	"cmp"
	"context"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// opCampaign stands in errors.
const opCampaign messages.Operation = "campaign"

// Campaign waits until this client leads the election of this name, and publishes the value. An election is an
// exclusive lock: candidates wait in the queue of the resource, first come first served, and the holder of the lock
// leads. The value is the entry "value" of the lock's metadata, beside those of [Metadata]; together they have at most
// 1 024 bytes.
//
// The options are those of an exclusive lock that makes events, so neither [Shared], [Permits], [Ephemeral], [Reentrant]
// nor [Cached]. The errors are those of [Client.Acquire]; also [ErrInvalid] if the deployment lacks the feature
// "values".
func (c *Client) Campaign(ctx context.Context, name, value string, opts ...AcquireOption) (*Leadership, error) {
	o := c.cfg.acquireOptions(opts)
	if err := cmp.Or(o.uncached("Campaign"), o.checkElection()); err != nil {
		return nil, invalid(opCampaign, messages.NormalizeResource(name), err)
	}
	if err := c.deployment.need(ctx, opCampaign, name, valuesFeature); err != nil {
		return nil, err
	}
	o.metadata = withValue(o.metadata, value)
	l, err := c.acquire(ctx, name, o, time.Now())
	if err != nil {
		return nil, err
	}
	return &Leadership{lock: l}, nil
}

// checkElection refuses what would make several leaders, or leaders whom no journal shows.
func (o *acquireOptions) checkElection() error {
	switch {
	case o.kind() != kind{}:
		return rule("limit", "1: there is one leader", "a shared lock")
	case o.ephemeral:
		return rule("durability", "PERSISTENT: observers read the journal", "EPHEMERAL")
	case o.reentrant:
		return rule("reentrant", "false: each term is one lease", "true")
	}
	return nil
}
