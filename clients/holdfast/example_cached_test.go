package holdfast_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// A worker locks the same account again and again. Each use has a token of its own, and only the first one asks the
// service. Another client that wants the account gets it at the end of the present use.
func ExampleCached() {
	ctx := context.Background()
	client := example()
	defer client.Close(ctx)
	var accounts store

	for i := range 3 {
		err := client.Do(ctx, "account:42", func(_ context.Context, l *holdfast.Lock) error {
			return accounts.Write(fmt.Sprint("booking ", i, " with token ", l.Token()), l.Token())
		}, holdfast.Cached(time.Minute))
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("leases:", client.CacheStats().Leases)
	// Output:
	// written: booking 0 with token 000000000000001
	// written: booking 1 with token 000000000000002
	// written: booking 2 with token 000000000000003
	// leases: 1
}

// A holder that can stop at any time does so as soon as others wait.
func ExampleLock_Wanted() {
	ctx := context.Background()
	client := example()
	defer client.Close(ctx)

	l, err := client.Acquire(ctx, "reindex")
	if err != nil {
		log.Fatal(err)
	}
	next := make(chan *holdfast.Lock)
	go func() {
		other, err := client.Acquire(ctx, "reindex")
		if err != nil {
			log.Fatal(err)
		}
		next <- other
	}()
	<-l.Wanted()
	fmt.Println("somebody waits; held:", l.Valid())
	if err := l.Release(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("now it is held by another:", (<-next).Valid())
	// Output:
	// somebody waits; held: true
	// now it is held by another: true
}

// A job that ends at once does not run a second time on a host whose clock is behind.
func ExampleMinHold() {
	ctx := context.Background()
	client := example()
	defer client.Close(ctx)

	for range 2 {
		l, err := client.TryAcquire(ctx, "nightly report", holdfast.MinHold(time.Minute))
		if err != nil {
			fmt.Println("it has run already")
			continue
		}
		fmt.Println("the report is written")
		if err := l.Release(ctx); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// the report is written
	// it has run already
}
