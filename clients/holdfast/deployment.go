package holdfast

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// deployment is what the service says about itself, as soon as it is known.
type deployment struct {
	sender *request.Sender
	info   atomic.Pointer[Info]
	known  chan struct{} // closed as soon as info is set
	begun  time.Time
}

func newDeployment(s *request.Sender) *deployment {
	return &deployment{sender: s, known: make(chan struct{}), begun: time.Now()}
}

// awaitDeployment waits a little for the deployment, as long as the client is young, so that the first requests need
// not be forwarded.
func (c *Client) awaitDeployment(ctx context.Context) {
	d := c.deployment
	left := min(messages.FirstResend, c.cfg.timeout/2) - time.Since(d.begun)
	if d.info.Load() != nil || left <= 0 {
		return
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-d.known:
	case <-timer.C:
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

// find asks until the service has answered. Until then requests are sent to any node, which forwards them; then
// they can take the direct routes to the owners of their shards.
func (d *deployment) find(life context.Context, ask func(context.Context) (*Info, error), pause time.Duration) {
	for life.Err() == nil {
		if info, err := ask(life); err == nil {
			d.sender.SetDeployment(info.Shards, info.Features)
			d.info.Store(info)
			close(d.known)
			return
		}
		select {
		case <-time.After(pause):
		case <-life.Done():
		}
	}
}
