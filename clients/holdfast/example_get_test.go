package holdfast_test

import (
	"context"
	"fmt"
	"log"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

func ExampleClient_Get() {
	ctx := context.Background()
	client := example()
	defer client.Close(ctx)

	l, err := client.Acquire(ctx, "report", holdfast.Owner("ann"))
	if err != nil {
		log.Fatal(err)
	}
	s, err := client.Get(ctx, "report")
	fmt.Println(s.Held, s.Owner, s.Token, err)

	if err := l.Release(ctx); err != nil {
		log.Fatal(err)
	}
	s, err = client.Get(ctx, "report")
	fmt.Println(s.Held, s.Token, err)
	// Output:
	// true ann 000000000000001 <nil>
	// false 000000000000001 <nil>
}

func ExampleClient_List() {
	ctx := context.Background()
	client := example()
	defer client.Close(ctx)

	for _, name := range []string{"rooms.red", "rooms.blue", "halls.great"} {
		if _, err := client.Acquire(ctx, name, holdfast.Owner("ann")); err != nil {
			log.Fatal(err)
		}
	}
	for lease, err := range client.List(ctx, "rooms.*") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(lease.Resource, lease.Owner)
	}
	// Unordered output:
	// rooms.red ann
	// rooms.blue ann
}

// An operator breaks the lease of one holder, and no later one.
func ExampleClient_Break() {
	ctx := context.Background()
	client := example()
	defer client.Close(ctx)

	if _, err := client.Acquire(ctx, "crane", holdfast.Owner("ann")); err != nil {
		log.Fatal(err)
	}
	s, err := client.Get(ctx, "crane")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(client.Break(ctx, "crane", s.Token+1, "she has gone home"))
	fmt.Println(client.Break(ctx, "crane", s.Token, "she has gone home"))
	// Output:
	// holdfast: break "crane": stale token (held by "ann", token 000000000000001)
	// <nil>
}
