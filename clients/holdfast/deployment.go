package holdfast

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-io/holdfast/clients/internal/clock"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// minDoubt and maxDoubt bound the pauses between two questions of what the service says about itself, when there is
	// doubt. The pause doubles while the answer stays the same: the doubt may be forged, or the service be away.
	minDoubt = time.Second
	maxDoubt = 30 * time.Second
)

// deployment is what the service says about itself, as soon as it is known.
type deployment struct {
	calls  asker
	prefix messages.Prefix
	// begun is when the client was made, life ends with it.
	begun time.Time
	life  context.Context

	info  atomic.Pointer[Info]
	known chan struct{} // closed as soon as info is set
	// doubts has an element when info may be out of date.
	doubts chan struct{}

	// learning is held while something new becomes known. divided is called when that are other shards, with their
	// generation.
	learning sync.Mutex
	divided  func(generation uint32)
}

func newDeployment() *deployment {
	return &deployment{known: make(chan struct{}), doubts: make(chan struct{}, 1)}
}

// ask asks the service about itself, and takes the answer in.
func (d *deployment) ask(ctx context.Context) (*Info, error) {
	var m messages.Info
	if err := d.calls.askAbout(ctx, opInfo, d.prefix.Info(), &messages.GetRequest{}, &m); err != nil {
		return nil, err
	}
	if n := m.GetShards(); n < 1 || n > messages.MaxShards {
		cause := fmt.Errorf("the answer has %d shards, a deployment has 1 to %d", n, messages.MaxShards)
		return nil, &Error{Op: string(opInfo), Err: ErrUnavailable, Cause: cause}
	}
	info := newInfo(&m)
	d.learn(info)
	return info, nil
}

func (d *deployment) learn(info *Info) {
	d.learning.Lock()
	defer d.learning.Unlock()
	former := d.info.Load()
	others := former == nil || former.layout() != info.layout()
	if others {
		d.calls.sender.SetDeployment(info.layout(), info.Features)
	}
	d.info.Store(info)
	if others {
		d.divided(info.Generation)
	}
	if former == nil {
		close(d.known)
	}
}

// doubt has the service asked again, because it may have other shards by now. It does not block.
func (d *deployment) doubt() {
	select {
	case d.doubts <- struct{}{}:
	default:
	}
}

// follow asks until the service has answered, and again whenever there is doubt. Before the first answer requests are
// sent to any node, which forwards them; then they can take the direct routes to the owners of their shards.
func (d *deployment) follow() {
	for pause := time.Duration(0); ; {
		former := d.info.Load()
		info, err := d.ask(d.life)
		switch {
		case err != nil:
			pause = d.calls.timeout
		case former == nil || former.layout() != info.layout():
			pause = minDoubt
		default:
			pause = min(max(2*pause, minDoubt), maxDoubt) // mutant: DoubtWithoutAPause
		}
		select {
		case <-time.After(pause):
		case <-d.life.Done():
			return
		}
		if err != nil {
			continue
		}
		select {
		case <-d.doubts:
		case <-d.life.Done():
			return
		}
	}
}

// await waits a little for the deployment, as long as the client is young, so that the first requests need not be
// forwarded.
func (d *deployment) await(ctx context.Context) {
	left := min(messages.FirstResend, d.calls.timeout/2) - clock.Since(d.begun)
	if d.info.Load() != nil || left <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	select {
	case <-d.known:
	case <-ctx.Done():
	case <-d.life.Done():
	}
}

// maxWait is the longest wait that the deployment allows, and the contract's default until that is known.
func (d *deployment) maxWait() time.Duration {
	if info := d.info.Load(); info != nil && info.Limits.MaxWait > 0 {
		return info.Limits.MaxWait
	}
	return millis(messages.MaxWaitMillis)
}

// minTTL is the shortest TTL that the deployment allows, and the contract's default until that is known.
func (d *deployment) minTTL() time.Duration {
	if info := d.info.Load(); info != nil && info.Limits.MinTTL > 0 {
		return info.Limits.MinTTL
	}
	return millis(limits.GetMinTtlMs())
}

// feature is what a deployment may lack, and what a caller can do about it.
type feature struct{ name, advice string }

var (
	sharingFeature = feature{messages.FeatureSharing, "upgrade all nodes, or use exclusive locks only"}
	delayFeature   = feature{messages.FeatureDelay,
		"upgrade all nodes, or neither delay the lock after a loss nor have losses confirmed"}
	sessionsFeature = feature{messages.FeatureSessions,
		"upgrade all nodes, or let leases of a disconnected client expire"}
	tokensFeature  = feature{messages.FeatureTokens, "upgrade all nodes, or cache no locks"}
	noticesFeature = feature{messages.FeatureNotices, "upgrade all nodes, or cache no locks"}
	minHoldFeature = feature{messages.FeatureMinHold, "upgrade all nodes, or leave out the shortest hold"}
	rankingFeature = feature{messages.FeatureRanking, "upgrade all nodes, or list without a ranking"}
	valuesFeature  = feature{messages.FeatureValues,
		"upgrade all nodes, or set the metadata when the lock is acquired"}
)

// everyNodeOffers reports whether all nodes are known to have a feature: they are of one version, which has it.
func (d *deployment) everyNodeOffers(feature string) bool {
	info := d.info.Load()
	return info != nil && info.offers(feature) &&
		!slices.ContainsFunc(info.Nodes, func(n Node) bool { return n.Version != info.Version })
}

// need returns an [ErrInvalid] if the context is nil, or the deployment is known not to have one of the features. It
// waits a little for what the deployment says, as a first request does; if that does not come, the service decides.
func (d *deployment) need(ctx context.Context, op messages.Operation, resource string, features ...feature) error {
	if err := checkContext(ctx, op, resource); err != nil {
		return err
	}
	for _, f := range features {
		d.await(ctx)
		if info := d.info.Load(); info == nil || info.offers(f.name) {
			continue
		}
		info, err := d.ask(ctx) // its nodes may have been upgraded since
		if err != nil {
			return nil
		}
		if !info.offers(f.name) {
			return invalid(op, resource, rule("feature "+f.name, "that of a deployment that has it; "+f.advice,
				"version "+strconv.Quote(info.Version)))
		}
	}
	return nil
}
