package fence_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencefile"
)

// Account is protected by a lock. It refuses a holder that has lost it.
type Account struct {
	mu      sync.Mutex
	balance int
	highest fence.Token // of all that have written
}

// SetBalance checks, raises the mark and writes in one step, under one mutex.
func (a *Account) SetBalance(c fence.Claim, balance int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := fence.Repeatable.Check(c, a.highest); err != nil {
		return err
	}
	a.highest, a.balance = c.Token, balance
	return nil
}

// The holder with token 33 is paused until its lease has ended. The lock is granted again, with token
// 34. Then the first one wakes up, and does not know.
func Example() {
	var account Account
	paused := fence.Claim{Resource: "account.7", Token: 33}
	next := fence.Claim{Resource: "account.7", Token: 34}

	fmt.Println(account.SetBalance(next, 100))
	err := account.SetBalance(paused, 50)
	fmt.Println(err)
	fmt.Println(errors.Is(err, fence.ErrStale), account.balance)
	// Output:
	// <nil>
	// "account.7": stale fencing token: 000000000000033, after 000000000000034 was seen
	// true 100
}

// A counter of what the guards of a process have found, by guard and result. With Prometheus it is a CounterVec
// holdfast_fence_checks_total with these two labels.
func ExampleObserver() {
	checks := make(map[[2]string]int)
	var mu sync.Mutex
	count := func(v fence.Verdict) {
		mu.Lock()
		defer mu.Unlock()
		checks[[2]string{v.Guard, v.Result.String()}]++
	}

	dir, err := os.MkdirTemp("", "orders")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	orders, err := fencefile.Open(dir, fencefile.WithObserver(count))
	if err != nil {
		panic(err)
	}
	defer func() { _ = orders.Close() }()
	for _, token := range []fence.Token{34, 33, 35} {
		_ = orders.Raise(context.Background(), fence.Claim{Resource: "orders.42", Token: token})
	}
	fmt.Println(checks[[2]string{"fencefile", "passed"}], "passed,", checks[[2]string{"fencefile", "stale"}], "stale")
	// Output: 2 passed, 1 stale
}

// A job that must not run twice under one grant.
func ExampleOnce() {
	job := fence.Claim{Resource: "invoices.2026-11", Token: 7}
	fmt.Println(fence.Once.Check(job, 6))
	fmt.Println(fence.Once.Check(job, 7))
	// Output:
	// <nil>
	// "invoices.2026-11": fencing token was used before: 000000000000007
}
