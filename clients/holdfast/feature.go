package holdfast

import (
	"context"
	"slices"
	"strconv"

	"github.com/holdfast-io/holdfast/messages"
)

// feature is what a deployment may lack, and what a caller can do about it.
type feature struct{ name, advice string }

var (
	sharingFeature  = feature{messages.FeatureSharing, "upgrade all nodes, or use exclusive locks only"}
	delayFeature    = feature{messages.FeatureDelay, "upgrade all nodes, or neither delay the lock after a loss nor have losses confirmed"}
	sessionsFeature = feature{messages.FeatureSessions, "upgrade all nodes, or let leases of a disconnected client expire"}
	valuesFeature   = feature{messages.FeatureValues, "upgrade all nodes, or set the metadata when the lock is acquired"}
)

// everyNodeOffers reports whether all nodes are known to have a feature: they are of one version, which has it.
func (c *Client) everyNodeOffers(feature string) bool {
	info := c.deployment.info.Load()
	return info != nil && info.offers(feature) &&
		!slices.ContainsFunc(info.Nodes, func(n Node) bool { return n.Version != info.Version })
}

// need returns an [ErrInvalid] if the context is nil, or the deployment is known not to have one of the features. It
// waits a little for what the deployment says, as a first request does; if that does not come, the service decides.
func (c *Client) need(ctx context.Context, op messages.Operation, resource string, features ...feature) error {
	if err := checkContext(ctx, op, resource); err != nil {
		return err
	}
	for _, f := range features {
		c.awaitDeployment(ctx)
		if info := c.deployment.info.Load(); info == nil || info.offers(f.name) {
			continue
		}
		info, err := c.Info(ctx) // its nodes may have been upgraded since
		if err != nil {
			return nil
		}
		c.deployment.info.Store(info)
		if !info.offers(f.name) {
			return invalid(op, resource, rule("feature "+f.name, "that of a deployment that has it; "+f.advice,
				"version "+strconv.Quote(info.Version)))
		}
	}
	return nil
}
