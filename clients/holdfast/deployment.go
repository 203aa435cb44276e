package holdfast

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// deployment is what the service says about itself, as soon as it is known.
type deployment struct {
	info  atomic.Pointer[Info]
	known chan struct{} // closed as soon as info is set
	begun time.Time
}

func newDeployment() *deployment {
	return &deployment{known: make(chan struct{}), begun: time.Now()}
}

func (d *deployment) set(info *Info) {
	d.info.Store(info)
	close(d.known)
}

// await waits a little for the deployment, so that the first requests need not be forwarded. It waits
// no longer than most after the client's start.
func (d *deployment) await(ctx context.Context, most time.Duration, stop <-chan struct{}) {
	left := most - time.Since(d.begun)
	if d.info.Load() != nil || left <= 0 {
		return
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-d.known:
	case <-timer.C:
	case <-ctx.Done():
	case <-stop:
	}
}

// maxWait is the longest wait that the deployment allows, and the contract's default until that is known.
func (d *deployment) maxWait() time.Duration {
	if info := d.info.Load(); info != nil && info.Limits.MaxWait > 0 {
		return info.Limits.MaxWait
	}
	return millis(messages.MaxWaitMillis)
}

// discover finds out how many shards there are, so that requests can take the direct routes to their
// owners. Until then they are sent to any node, which forwards them.
func (c *Client) discover() {
	for c.life.Err() == nil {
		if info, err := c.Info(c.life); err == nil {
			c.sender.SetShards(info.Shards)
			c.deployment.set(info)
			return
		}
		select {
		case <-time.After(c.cfg.timeout):
		case <-c.life.Done():
		}
	}
}
