package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// What runs under a lock stops when the lock is lost, here because an operator breaks it.
func ExampleLock_Context() {
	ctx := context.Background()
	client := example()
	defer client.Close(ctx)

	l, err := client.Acquire(ctx, "migration", holdfast.TTL(3*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	if err := client.Break(ctx, "migration", l.Token(), "wrong database"); err != nil {
		log.Fatal(err)
	}
	<-l.Context().Done()
	fmt.Println(errors.Is(context.Cause(l.Context()), holdfast.ErrLost))
	fmt.Println(l.Valid())
	fmt.Println(errors.Is(l.Release(ctx), holdfast.ErrLost))
	// Output:
	// true
	// false
	// true
}

// A request carries the token, over HTTP and over NATS, to the service that checks it.
func ExampleSetHeader() {
	ctx := context.Background()
	client := example()
	defer client.Close(ctx)

	err := client.Do(ctx, "order:44", func(ctx context.Context, _ *holdfast.Lock) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPut, "https://example.com/order/44", nil)
		if err != nil {
			return err
		}
		if err := holdfast.SetHeader(ctx, request.Header); err != nil {
			return err
		}
		fmt.Println(request.Header.Get("Fencing-Resource"), request.Header.Get("Fencing-Token"))

		message := nats.NewMsg("orders.ship")
		if err := holdfast.SetHeader(ctx, message.Header); err != nil {
			return err
		}
		claim, ok, err := holdfast.ClaimFromHeader(message.Header)
		fmt.Println(claim.Resource, claim.Token, ok, err)
		return nil
	})
	fmt.Println(err)
	// Output:
	// order:44 000000000000001
	// order:44 000000000000001 true <nil>
	// <nil>
}

// Far from where the lock was taken, the context still knows the token.
func ExampleTokenFromContext() {
	ctx := context.Background()
	client := example()
	defer client.Close(ctx)

	write := func(ctx context.Context) {
		token, ok := holdfast.TokenFromContext(ctx)
		fmt.Println(token, ok)
	}
	err := client.Do(ctx, "order:45", func(ctx context.Context, _ *holdfast.Lock) error {
		write(ctx)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	write(ctx)
	// Output:
	// 000000000000001 true
	// 000000000000000 false
}
