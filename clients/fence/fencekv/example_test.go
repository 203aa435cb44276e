package fencekv_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencekv"
)

// The holder with token 33 is paused until its lease has ended. The lock is granted again, with token
// 34, and its holder writes. Then the first one wakes up, and does not know.
func Example() {
	ctx := context.Background()
	nc, err := nats.Connect(url)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "orders"}); err != nil {
		fmt.Println(err)
		return
	}

	orders, err := fencekv.Open(ctx, js, "orders")
	if err != nil {
		fmt.Println(err)
		return
	}
	paused := fence.Claim{Resource: "orders.42", Token: 33}
	next := fence.Claim{Resource: "orders.42", Token: 34}

	_, err = orders.Put(ctx, next, []byte("shipped"))
	fmt.Println(err)
	_, err = orders.Put(ctx, paused, []byte("cancelled"))
	fmt.Println(err)
	fmt.Println(errors.Is(err, fence.ErrStale))

	order, err := orders.Get(ctx, "orders.42")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s, by %d\n", order.Value, order.Token)
	// Output:
	// <nil>
	// "orders.42": stale fencing token: 000000000000033, after 000000000000034 was seen
	// true
	// shipped, by 34
}
