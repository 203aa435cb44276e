package holdfast_test

import (
	"context"
	"fmt"
	"log"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// A leader publishes where it can be reached, and others follow who leads.
func ExampleClient_Campaign() {
	ctx := context.Background()
	client := example()
	defer client.Close(ctx)

	term, err := client.Campaign(ctx, "scheduler", "http://10.0.0.7:8080", holdfast.Owner("worker-7"))
	if err != nil {
		log.Fatal(err)
	}
	// Work under term.Context(), and show term.Claim() to what is written.
	if err := term.Proclaim(ctx, "http://10.0.0.7:9090"); err != nil {
		log.Fatal(err)
	}
	leader, err := client.Leader(ctx, "scheduler")
	fmt.Println(leader, leader.Value, err)
	if err := term.Resign(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// "scheduler" is led by "worker-7", token 000000000000001 http://10.0.0.7:9090 <nil>
}

func ExampleClient_Observe() {
	ctx := context.Background()
	client := example()
	defer client.Close(ctx)

	term, err := client.Campaign(ctx, "reporter", "one", holdfast.Owner("worker-7"))
	if err != nil {
		log.Fatal(err)
	}
	for leader, err := range client.Observe(ctx, "reporter") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(leader, leader.Value)
		switch {
		case leader.Value == "one":
			err = term.Proclaim(ctx, "two")
		case leader.Leads():
			err = term.Resign(ctx)
		default:
			return
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// "reporter" is led by "worker-7", token 000000000000001 one
	// "reporter" is led by "worker-7", token 000000000000001 two
	// "reporter" has no leader
}
