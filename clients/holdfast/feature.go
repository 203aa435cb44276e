package holdfast

import (
	"context"
	"strconv"

	"github.com/holdfast-io/holdfast/messages"
)

// feature is what a deployment may lack, and what a caller can do about it.
type feature struct{ name, advice string }

var (
	sharingFeature = feature{messages.FeatureSharing, "upgrade all nodes, or use exclusive locks only"}
	delayFeature   = feature{messages.FeatureDelay, "upgrade all nodes, or use neither Delay nor ConfirmLoss"}
	valuesFeature  = feature{messages.FeatureValues, "upgrade all nodes, or set the metadata when the lock is acquired"}
)

// need returns an [ErrInvalid] if the deployment is known not to have a feature. It waits a little for what the
// deployment says, as a first request does; if that does not come, the service decides.
func (c *Client) need(ctx context.Context, op messages.Operation, resource string, f feature) error {
	c.awaitDeployment(ctx)
	if info := c.deployment.info.Load(); info == nil || info.offers(f.name) {
		return nil
	}
	info, err := c.Info(ctx) // its nodes may have been upgraded since
	if err != nil {
		return nil
	}
	c.deployment.info.Store(info)
	if info.offers(f.name) {
		return nil
	}
	return invalid(op, resource, rule("feature "+f.name, "that of a deployment that has it; "+f.advice,
		"version "+strconv.Quote(info.Version)))
}
