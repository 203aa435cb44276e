package holdfast_test

import (
	"context"
	"fmt"
	"log"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// Two accounts are locked together. Transfers in opposite directions do not wait for one another in a circle.
func ExampleClient_AcquireAll() {
	ctx := context.Background()
	client := example()
	defer client.Close(ctx)

	locks, err := client.AcquireAll(ctx, []string{"account/7", "account/3"})
	if err != nil {
		log.Fatal(err)
	}
	for _, claim := range locks.Claims() {
		fmt.Println(claim.Resource, claim.Token)
	}
	fmt.Println(locks.Release(ctx))
	// Output:
	// account/3 000000000000001
	// account/7 000000000000001
	// <nil>
}

// Each of the protected resources gets the claim of its own lock.
func ExampleClient_DoAll() {
	ctx := context.Background()
	client := example()
	defer client.Close(ctx)
	var from, to store

	err := client.DoAll(ctx, []string{"from", "to"}, func(_ context.Context, locks *holdfast.Locks) error {
		debit, _ := locks.Claim("from")
		credit, _ := locks.Claim("to")
		if err := from.Write("debit 10", debit.Token); err != nil {
			return err
		}
		return to.Write("credit 10", credit.Token)
	})
	fmt.Println(err)
	// Output:
	// written: debit 10
	// written: credit 10
	// <nil>
}
