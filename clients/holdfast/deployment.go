package holdfast

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/holdfast-io/holdfast/clients/internal/clock"
	"github.com/holdfast-io/holdfast/messages"
)

// deployment is what the service says about itself, as soon as it is known.
type deployment struct {
	info  atomic.Pointer[Info]
	known chan struct{} // closed as soon as info is set
}

func newDeployment() *deployment { return &deployment{known: make(chan struct{})} }

// awaitDeployment waits a little for the deployment, as long as the client is young, so that the first requests need
// not be forwarded.
func (c *Client) awaitDeployment(ctx context.Context) {
	d := c.deployment
	left := min(messages.FirstResend, c.cfg.timeout/2) - clock.Since(c.begun)
	if d.info.Load() != nil || left <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	select {
	case <-d.known:
	case <-ctx.Done():
	case <-c.life.Done():
	}
}

// offers reports whether the deployment has a feature.
func (i *Info) offers(feature string) bool { return slices.Contains(i.Features, feature) }

// maxWait is the longest wait that the deployment allows, and the contract's default until that is known.
func (d *deployment) maxWait() time.Duration {
	if info := d.info.Load(); info != nil && info.Limits.MaxWait > 0 {
		return info.Limits.MaxWait
	}
	return millis(messages.MaxWaitMillis)
}

// findDeployment asks until the service has answered. Until then requests are sent to any node, which forwards them; then
// they can take the direct routes to the owners of their shards.
func (c *Client) findDeployment() {
	for c.life.Err() == nil {
		if info, err := c.Info(c.life); err == nil {
			c.sender.SetDeployment(info.Shards, info.Features)
			c.deployment.info.Store(info)
			close(c.deployment.known)
			return
		}
		select {
		case <-time.After(c.cfg.timeout):
		case <-c.life.Done():
		}
	}
}
