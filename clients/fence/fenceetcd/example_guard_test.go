package fenceetcd_test

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fenceetcd"
)

// The holder with token 33 is paused until its lease has ended. The lock is granted again, with token
// 34. Then the first one wakes up, and does not know.
func Example() {
	ctx := context.Background()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{emptyServer()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	guard, err := fenceetcd.New(client)
	if err != nil {
		fmt.Println(err)
		return
	}

	paused := fence.Claim{Resource: "account.7", Token: 33}
	next := fence.Claim{Resource: "account.7", Token: 34}
	write := func(c fence.Claim, balance string) error {
		_, err := guard.Transact(ctx, c, []clientv3.Op{clientv3.OpPut("accounts/7/balance", balance)})
		return err
	}
	fmt.Println(write(paused, "70"))
	fmt.Println(write(next, "100"))
	err = write(paused, "50")
	fmt.Println(err)
	balance, _ := client.Get(ctx, "accounts/7/balance")
	fmt.Printf("%v %s\n", errors.Is(err, fence.ErrStale), balance.Kvs[0].Value)
	// Output:
	// <nil>
	// <nil>
	// "account.7": stale fencing token: 000000000000033, after 000000000000034 was seen
	// true 100
}

// A comparison of the caller's own: create, but never overwrite.
func ExampleGuard_Transact() {
	ctx := context.Background()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{emptyServer()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	guard, err := fenceetcd.New(client)
	if err != nil {
		fmt.Println(err)
		return
	}

	c := fence.Claim{Resource: "account.8", Token: 5}
	absent := clientv3.Compare(clientv3.CreateRevision("accounts/8"), "=", 0)
	for range 2 {
		_, err = guard.Transact(ctx, c, []clientv3.Op{clientv3.OpPut("accounts/8", "open")}, absent)
		fmt.Println(err)
	}
	fmt.Println(errors.Is(err, fenceetcd.ErrCompare))
	// Output:
	// <nil>
	// resource "account.8": the caller's comparison failed
	// true
}
