package holdfast_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// Who keeps an account of locks saves the position behind what it has written down, and goes on there.
func ExampleClient_Watch() {
	ctx := context.Background()
	client := example()
	defer client.Close(ctx)

	l, err := client.Acquire(ctx, "ledger.2026", holdfast.Owner("ann"))
	if err != nil {
		log.Fatal(err)
	}
	var saved holdfast.Position
	for e, err := range client.Watch(ctx, "ledger.2026", holdfast.Since(time.Time{})) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e)
		saved = e.Position()
		break
	}
	if err := l.Release(ctx); err != nil {
		log.Fatal(err)
	}
	for e, err := range client.Watch(ctx, "ledger.2026", holdfast.From(saved), holdfast.UntilNow()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e, e.Held() >= 0)
	}
	// Output:
	// ACQUIRED "ledger.2026" by "ann", token 000000000000001
	// RELEASED "ledger.2026" by "ann", token 000000000000001 true
}

// Present yields first who holds what.
func ExamplePresent() {
	ctx := context.Background()
	client := example()
	defer client.Close(ctx)

	if _, err := client.Acquire(ctx, "berths.7", holdfast.Owner("ann")); err != nil {
		log.Fatal(err)
	}
	for e, err := range client.Watch(ctx, "berths.*", holdfast.Present()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e)
		if e.Kind == holdfast.EventBookmark { // from here on it yields changes
			break
		}
	}
	// Output:
	// PRESENT "berths.7" by "ann", token 000000000000001
	// BOOKMARK
}

func ExampleClient_WaitFree() {
	ctx := context.Background()
	client := example()
	defer client.Close(ctx)

	l, err := client.Acquire(ctx, "migration")
	if err != nil {
		log.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, func() { _ = l.Release(ctx) })
	fmt.Println(client.WaitFree(ctx, "migration"))
	// Output: <nil>
}
