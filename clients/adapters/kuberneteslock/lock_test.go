package kuberneteslock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/holdfast-io/holdfast/clients/adapters/internal/adaptertest"
	"github.com/holdfast-io/holdfast/clients/adapters/kuberneteslock"
	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// operate is an [adaptertest.Host]: the manager of an operator, whose work is what it runs as the leader. There is no
// API server.
func operate(ctx context.Context, c *holdfast.Client, ttl time.Duration, work func(context.Context)) error {
	lock := kuberneteslock.New(c, "test/job", "")
	ctx, cancel := lock.Context(ctx)
	defer cancel()
	deadline, retry := ttl*3/4, min(ttl/8, time.Second)
	m, err := manager.New(&rest.Config{}, manager.Options{
		LeaderElection:                      true,
		LeaderElectionResourceLockInterface: lock,
		LeaderElectionReleaseOnCancel:       true,
		LeaseDuration:                       &ttl, RenewDeadline: &deadline, RetryPeriod: &retry,
		BaseContext: func() context.Context { return ctx },
		Metrics:     server.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	err = m.Add(manager.RunnableFunc(func(ctx context.Context) error {
		work(ctx)
		cancel()
		return nil
	}))
	if err != nil {
		return err
	}
	return m.Start(ctx)
}

func TestFaults(t *testing.T) { adaptertest.Faults(t) }

const lease, deadline, retry = 15 * time.Second, 10 * time.Second, 50 * time.Millisecond

// election has client-go campaign with the lock until ctx ends, or it has lost. It calls work as the leader.
func election(ctx context.Context, l resourcelock.Interface, work func(context.Context)) {
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: l, ReleaseOnCancel: true, LeaseDuration: lease, RenewDeadline: deadline, RetryPeriod: retry,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: work, OnStoppedLeading: func() {}},
	})
}

// The instances of a program lead one after another. Each one that ends hands over, and each has a higher token.
func TestElection(t *testing.T) {
	t.Parallel()
	node := adaptertest.Node(t)
	const candidates = 3
	leaders, ends := make(chan holdfast.Claim), make(chan struct{}, candidates)
	leading := make(chan struct{}, 1) // full while one leads
	for range candidates {
		lock := kuberneteslock.New(adaptertest.NewClient(t, node), "shop", "")
		ctx, cancel := lock.Context(t.Context())
		t.Cleanup(cancel)
		go func() {
			election(ctx, lock, func(ctx context.Context) {
				select {
				case leading <- struct{}{}:
				default:
					t.Error("two lead at the same time")
				}
				claim, _ := holdfast.ClaimFromContext(ctx)
				leaders <- claim
				<-leading
				cancel()
			})
			ends <- struct{}{}
		}()
	}
	for i := range candidates {
		if claim := <-leaders; claim.Resource != "shop" || claim.Token != holdfast.Token(i+1) {
			t.Errorf("leader %d has the claim %v", i, claim)
		}
	}
	for range candidates {
		<-ends
	}
}

// Who has lost the lease ends at once, and does not get it again while client-go goes on to lead; another candidate
// does. When client-go has stopped, it may campaign anew.
func TestLostElection(t *testing.T) {
	t.Parallel()
	node := adaptertest.Node(t)
	c := adaptertest.NewClient(t, node)
	lock := kuberneteslock.New(adaptertest.NewClient(t, node), "shop", "ann")
	ctx, cancel := lock.Context(t.Context())
	defer cancel()
	led, stopped := make(chan context.Context), make(chan struct{})
	outer, stop := context.WithCancel(context.WithoutCancel(ctx)) // client-go does not see the end of the lease
	defer stop()
	go func() {
		defer close(stopped)
		election(outer, lock, func(work context.Context) { led <- work })
	}()
	work := <-led
	claim, _ := holdfast.ClaimFromContext(work)
	if err := c.Break(t.Context(), claim.Resource, claim.Token, "a test"); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if cause := context.Cause(ctx); !errors.Is(cause, holdfast.ErrLost) {
		t.Errorf("the context of the lease ends with %v, want ErrLost", cause)
	}
	if work.Err() != nil {
		t.Error("client-go has noticed the loss, which this test assumes it has not")
	}
	if _, _, err := lock.Get(t.Context()); !apierrors.IsNotFound(err) {
		t.Errorf("the record of a broken lease: %v, want NotFound", err)
	}
	record := resourcelock.LeaderElectionRecord{HolderIdentity: "ann", LeaseDurationSeconds: 15}
	for name, again := range map[string]func(context.Context, resourcelock.LeaderElectionRecord) error{
		"Create": lock.Create, "Update": lock.Update,
	} {
		if err := again(t.Context(), record); !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("%s while it leads: %v, want ErrLost", name, err)
		}
	}
	other := kuberneteslock.New(c, "shop", "bob")
	if err := other.Create(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	if err := other.Update(t.Context(), resourcelock.LeaderElectionRecord{}); err != nil {
		t.Error(err)
	}
	stop()
	<-stopped
	if err := lock.Create(t.Context(), record); err != nil {
		t.Errorf("a new term: %v", err)
	}
}

// A candidate sees who leads, never the same record twice, and does not get a lease that is held.
func TestCandidate(t *testing.T) {
	t.Parallel()
	node := adaptertest.Node(t)
	leader := kuberneteslock.New(adaptertest.NewClient(t, node), "shop", "ann")
	candidate := kuberneteslock.New(adaptertest.NewClient(t, node), "shop", "")
	if leader.Identity() != "ann" || candidate.Identity() == "" || leader.Describe() != "shop" {
		t.Errorf("%q, %q and %q", leader.Identity(), candidate.Identity(), leader.Describe())
	}
	if _, _, err := candidate.Get(t.Context()); !apierrors.IsNotFound(err) {
		t.Errorf("while nobody leads: %v, want NotFound", err)
	}
	record := resourcelock.LeaderElectionRecord{HolderIdentity: "ann", LeaseDurationSeconds: 15}
	if err := leader.Create(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	first, raw, err := candidate.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if first.HolderIdentity != "ann" || first.LeaseDurationSeconds != 15 || first.LeaderTransitions != 1 ||
		first.AcquireTime.IsZero() || first.RenewTime.IsZero() {
		t.Errorf("the record is %+v", first)
	}
	if _, again, err := candidate.Get(t.Context()); err != nil || string(again) == string(raw) {
		t.Errorf("the raw record is %q and then %q, %v", raw, again, err)
	}
	record.HolderIdentity = candidate.Identity()
	if err := candidate.Update(t.Context(), record); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("a lease that is held: %v, want ErrHeld", err)
	}
	if err := candidate.Update(t.Context(), resourcelock.LeaderElectionRecord{}); err != nil {
		t.Errorf("a release of nothing: %v", err)
	}
	record.HolderIdentity, record.LeaseDurationSeconds = "ann", 60
	if err := leader.Update(t.Context(), record); err != nil {
		t.Error(err)
	}
	renewed, _, err := candidate.Get(t.Context())
	if err != nil || renewed.LeaseDurationSeconds != 60 || renewed.LeaderTransitions != 1 {
		t.Errorf("renewed, the record is %+v, %v", renewed, err)
	}
}
