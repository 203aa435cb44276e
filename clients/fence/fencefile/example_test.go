package fencefile_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencefile"
)

// The holder with token 33 is paused until its lease has ended. The lock is granted again, with token
// 34, and its holder writes. Then the first one wakes up, and does not know.
func Example() {
	dir, err := os.MkdirTemp("", "orders")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	orders, err := fencefile.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer orders.Close()

	ctx := context.Background()
	paused := fence.Claim{Resource: "orders.42", Token: 33}
	next := fence.Claim{Resource: "orders.42", Token: 34}

	fmt.Println(orders.Write(ctx, next, "42.txt", []byte("shipped"), 0o644))
	err = orders.Write(ctx, paused, "42.txt", []byte("cancelled"), 0o644)
	fmt.Println(err)
	fmt.Println(errors.Is(err, fence.ErrStale))

	content, err := os.ReadFile(filepath.Join(dir, "42.txt"))
	fmt.Println(string(content), err)
	// Output:
	// <nil>
	// "orders.42": stale fencing token: 000000000000033, after 000000000000034 was seen
	// true
	// shipped <nil>
}

// Any change can be made under the guard, such as moving a file.
func ExampleDir_Do() {
	dir, err := os.MkdirTemp("", "orders")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	orders, err := fencefile.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer orders.Close()

	ctx := context.Background()
	lease := fence.Claim{Resource: "orders.42", Token: 34}
	fmt.Println(orders.Write(ctx, lease, "42.txt", []byte("shipped"), 0o644))
	fmt.Println(orders.Do(ctx, lease, func(root *os.Root) error {
		return root.Rename("42.txt", "42.archived")
	}))
	// Output:
	// <nil>
	// <nil>
}
