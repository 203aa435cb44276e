package fenceredis_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fenceredis"
)

// The holder with token 33 is paused until its lease has ended. The lock is granted again, with token
// 34. Then the first one wakes up, and does not know.
func Example() {
	ctx := context.Background()
	rdb := redis.NewClient(&redis.Options{Addr: emptyServer()})
	defer rdb.Close()
	guard, err := fenceredis.New(func(ctx context.Context, args ...any) (any, error) {
		return rdb.Do(ctx, args...).Result()
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	paused := fence.Claim{Resource: "account.7", Token: 33}
	next := fence.Claim{Resource: "account.7", Token: 34}
	fmt.Println(guard.Set(ctx, paused, "account.7", "balance 70", 0))
	fmt.Println(guard.Set(ctx, next, "account.7", "balance 100", 0))
	err = guard.Set(ctx, paused, "account.7", "balance 50", 0)
	fmt.Println(err)
	fmt.Println(errors.Is(err, fence.ErrStale), rdb.Get(ctx, "account.7").Val())
	// Output:
	// <nil>
	// <nil>
	// "account.7": stale fencing token: 000000000000033, after 000000000000034 was seen
	// true balance 100
}

// withdraw takes an amount from a balance, but never more than there is.
var withdraw = fenceredis.NewScript(`
	local balance = tonumber(redis.call('GET', KEYS[1]) or '0')
	local amount = tonumber(ARGV[1])
	if amount > balance then return -1 end
	return redis.call('DECRBY', KEYS[1], amount)
`)

// A write that depends on what is there is a script. Its keys carry the hash tag of the resource, so that
// they are in one slot of a cluster.
func ExampleGuard_Run() {
	ctx := context.Background()
	rdb := redis.NewClient(&redis.Options{Addr: emptyServer()})
	defer rdb.Close()
	guard, err := fenceredis.New(func(ctx context.Context, args ...any) (any, error) {
		return rdb.Do(ctx, args...).Result()
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	c := fence.Claim{Resource: "account.8", Token: 5}
	balance := fenceredis.Tag("account.8") + ":balance"
	fmt.Println(balance, guard.Set(ctx, c, balance, "100", 0))
	fmt.Println(guard.Run(ctx, c, withdraw, []string{balance}, "70"))
	fmt.Println(guard.Run(ctx, c, withdraw, []string{balance}, "70"))
	// Output:
	// {account.8}:balance <nil>
	// 30 <nil>
	// -1 <nil>
}
