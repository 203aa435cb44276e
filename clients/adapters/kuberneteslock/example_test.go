package kuberneteslock_test

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/holdfast-io/holdfast/clients/adapters/internal/adaptertest"
	"github.com/holdfast-io/holdfast/clients/adapters/kuberneteslock"
	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// Each instance of the operator runs this; one of them reconciles.
func ExampleNew() {
	client := adaptertest.Client() // holdfast.New(nc)
	config := &rest.Config{}       // ctrl.GetConfigOrDie()

	lock := kuberneteslock.New(client, "operators/shop", "")
	ctx, cancel := lock.Context(context.Background()) // ctrl.SetupSignalHandler()
	defer cancel()
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		LeaderElection:                      true,
		LeaderElectionResourceLockInterface: lock,
		BaseContext:                         func() context.Context { return ctx }, // for the token in each Reconcile
		Metrics:                             server.Options{BindAddress: "0"},
	})
	if err != nil {
		panic(err)
	}
	err = mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { // ctrl.NewControllerManagedBy(mgr)
		claim, _ := holdfast.ClaimFromContext(ctx)
		fmt.Println("leads", claim.Resource, "with token", claim.Token)
		cancel()
		return nil
	}))
	if err != nil {
		panic(err)
	}
	fmt.Println(mgr.Start(ctx))
	// Output:
	// leads operators/shop with token 000000000000001
	// <nil>
}
