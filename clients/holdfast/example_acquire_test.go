package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// store keeps the highest token that it has seen, and refuses lower ones. The packages below
// clients/fence do that for real stores.
type store struct{ highest holdfast.Token }

func (s *store) Write(value string, token holdfast.Token) error {
	if token < s.highest {
		return fmt.Errorf("token %v: %v has been here", token, s.highest)
	}
	s.highest = token
	fmt.Println("written:", value)
	return nil
}

// A lock is taken and given back. Its token goes with every write.
func ExampleClient_Acquire() {
	ctx := context.Background()
	client := example()
	defer client.Close(ctx)
	var orders store

	l, err := client.Acquire(ctx, "order:42", holdfast.TTL(10*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(orders.Write("shipped", l.Token()))
	fmt.Println(l.Release(ctx))
	// Output:
	// written: shipped
	// <nil>
	// <nil>
}

// A holder that was paused for too long is refused by the store, not by the lock.
func ExampleLock_Token() {
	ctx := context.Background()
	client := example()
	defer client.Close(ctx)
	var orders store

	slow, err := client.Acquire(ctx, "order:43")
	if err != nil {
		log.Fatal(err)
	}
	if err := client.Break(ctx, "order:43", slow.Token(), "it seems to be stuck"); err != nil {
		log.Fatal(err)
	}
	next, err := client.Acquire(ctx, "order:43")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(orders.Write("shipped", next.Token()))
	fmt.Println(orders.Write("cancelled", slow.Token()))
	// Output:
	// written: shipped
	// <nil>
	// token 000000000000001: 000000000000002 has been here
}

// The error has the present holder.
func ExampleClient_TryAcquire() {
	ctx := context.Background()
	client := example()
	defer client.Close(ctx)

	_, err := client.TryAcquire(ctx, "backup", holdfast.Owner("night shift"),
		holdfast.Metadata(map[string]string{"host": "db-3"}))
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.TryAcquire(ctx, "backup")
	var e *holdfast.Error
	if errors.Is(err, holdfast.ErrHeld) && errors.As(err, &e) {
		fmt.Printf("%s is at it on %s, token %v\n", e.Holder.Owner, e.Holder.Metadata["host"], e.Holder.Token)
	}
	// Output: night shift is at it on db-3, token 000000000000001
}

// The context bounds the wait.
func ExampleClient_Acquire_deadline() {
	ctx := context.Background()
	client := example()
	defer client.Close(ctx)

	busy, err := client.Acquire(ctx, "printer")
	if err != nil {
		log.Fatal(err)
	}
	patience, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	_, err = client.Acquire(patience, "printer")
	fmt.Println(errors.Is(err, holdfast.ErrTimeout), errors.Is(err, context.DeadlineExceeded))

	if err := busy.Release(ctx); err != nil {
		log.Fatal(err)
	}
	_, err = client.Acquire(ctx, "printer")
	fmt.Println(err)
	// Output:
	// true true
	// <nil>
}

// Functions that call one another may each ask for the lock that they need.
func ExampleReentrant() {
	ctx := context.Background()
	client := example()
	defer client.Close(ctx)

	err := client.Do(ctx, "account/7", func(ctx context.Context, outer *holdfast.Lock) error {
		return client.Do(ctx, "account/7", func(_ context.Context, inner *holdfast.Lock) error {
			fmt.Println(inner.Token() == outer.Token())
			return nil
		}, holdfast.Reentrant())
	}, holdfast.Reentrant())
	fmt.Println(err)
	// Output:
	// true
	// <nil>
}
