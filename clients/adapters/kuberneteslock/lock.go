// Package kuberneteslock elects the leader among the instances of an operator, or of another program that uses
// client-go for it, by Holdfast. It needs no API server of Kubernetes.
//
//	lock := kuberneteslock.New(client, "operators/shop", "")
//	ctx, cancel := lock.Context(ctrl.SetupSignalHandler())
//	mgr, err := ctrl.NewManager(config, ctrl.Options{
//		LeaderElection: true, LeaderElectionResourceLockInterface: lock,
//		BaseContext: func() context.Context { return ctx },
//	})
//	err = mgr.Start(ctx)
package kuberneteslock

import (
	"context"
	"crypto/rand"
	"math"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/holdfast-io/holdfast/clients/adapters/internal/run"
	"github.com/holdfast-io/holdfast/clients/holdfast"
)

var _ resourcelock.Interface = (*Lock)(nil)

// Lock is a [resourcelock.Interface] of one candidate. The lease lasts as long as the LeaseDuration of client-go, in
// whole seconds, and client-go renews it. It is safe for concurrent use.
type Lock struct {
	client             *holdfast.Client
	resource, identity string
	opts               []holdfast.AcquireOption

	gets atomic.Uint64

	mu   sync.Mutex
	lock *holdfast.Lock // also when it is lost or released, until client-go has stopped leading
}

// New returns the lock of a candidate for the resource, which all candidates have in common. identity is the owner's
// name by which the others know this candidate, and is of no other process; empty: it is made of the host's name and a
// random part. The options are those of an exclusive lock, without [holdfast.Owner], [holdfast.TTL] and
// [holdfast.NoRenewal].
func New(c *holdfast.Client, resource, identity string, opts ...holdfast.AcquireOption) *Lock {
	if identity == "" {
		host, _ := os.Hostname() // the random part is enough
		identity = host + "_" + rand.Text()
	}
	return &Lock{client: c, resource: resource, identity: identity, opts: opts}
}

// Context returns a context to lead with, for the Run of client-go's elector, or for the Start and as the BaseContext
// of the manager of controller-runtime. When the lease is lost, it ends at once, with a cause that is
// [holdfast.ErrLost], while client-go notices the loss only after its RenewDeadline. It also ends with ctx, by cancel,
// and when client-go releases the lease. While this candidate leads, it carries the token for guards.
func (l *Lock) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	return run.Context(ctx, l)
}

// Get implements [resourcelock.Interface]: it returns who holds the lease, with the token as the number of transitions.
// While nobody does, the error is that of an API server that has no such object. The raw record differs at each call,
// so that candidates do not take the lease for abandoned: that is for the service to say.
func (l *Lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	state, err := l.client.Get(ctx, l.resource)
	if err != nil {
		return nil, nil, err
	}
	if !state.Held {
		return nil, nil, errors.NewNotFound(coordinationv1.Resource("leases"), l.resource)
	}
	record := &resourcelock.LeaderElectionRecord{
		HolderIdentity:       state.Owner,
		LeaseDurationSeconds: int(math.Ceil(state.TTL.Seconds())),
		AcquireTime:          metav1.NewTime(state.AcquiredAt),
		RenewTime:            metav1.NewTime(time.Now().Add(state.Remaining - state.TTL)),
		LeaderTransitions:    int(min(uint64(state.Token), math.MaxInt)),
	}
	return record, strconv.AppendUint(nil, l.gets.Add(1), 10), nil
}

// Create implements [resourcelock.Interface]. It is Update.
func (l *Lock) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, r)
}

// Update implements [resourcelock.Interface]: it renews the lease of this candidate, or acquires it without waiting. A
// record without a holder releases it. The errors are those of [holdfast.Client.TryAcquire], [holdfast.Lock.Extend] and
// [holdfast.Lock.Release]. After a loss it is [holdfast.ErrLost] until client-go has stopped leading, so that it does
// not go on with work whose lock another leader has had meanwhile.
func (l *Lock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	ttl := time.Duration(r.LeaseDurationSeconds) * time.Second
	switch {
	case l.lock != nil && r.HolderIdentity == "":
		return l.lock.Release(ctx)
	case l.lock != nil:
		return l.lock.Extend(ctx, ttl)
	case r.HolderIdentity == "":
		return nil // it had none
	}
	lock, err := l.client.TryAcquire(ctx, l.resource, append(slices.Clip(l.opts),
		holdfast.Owner(l.identity), holdfast.TTL(ttl), holdfast.NoRenewal())...)
	if err != nil {
		return err
	}
	l.lock = lock
	run.Under(ctx, l, lock)
	return nil
}

// stopped is the event that client-go records when it leads no more, whether it has released the lease or not.
const stopped = "stopped leading"

// RecordEvent implements [resourcelock.Interface]. After the event "stopped leading" this candidate may lead anew; a
// lease that was not released runs out.
func (l *Lock) RecordEvent(event string) {
	if event != stopped {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lock = nil
}

// Identity implements [resourcelock.Interface].
func (l *Lock) Identity() string { return l.identity }

// Describe implements [resourcelock.Interface].
func (l *Lock) Describe() string { return l.resource }
