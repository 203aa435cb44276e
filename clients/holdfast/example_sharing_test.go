package holdfast_test

import (
	"context"
	"fmt"
	"log"
	"sync"
	"sync/atomic"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// A cache is filled by one writer, and read by many. The writer goes on as a reader, so that nothing changes before it
// has read what it wrote.
func ExampleShared() {
	ctx := context.Background()
	client := example()
	defer client.Close(ctx)
	var cache string

	writer, err := client.Acquire(ctx, "cache:prices")
	if err != nil {
		log.Fatal(err)
	}
	cache = "42"
	if err := writer.Downgrade(ctx); err != nil {
		log.Fatal(err)
	}
	for range 3 {
		err := client.Do(ctx, "cache:prices", func(context.Context, *holdfast.Lock) error {
			fmt.Println("read:", cache)
			return nil
		}, holdfast.Shared())
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("read by the writer:", cache, writer.Release(ctx))
	// Output:
	// read: 42
	// read: 42
	// read: 42
	// read by the writer: 42 <nil>
}

// At most 5 jobs call an API at the same time, however many there are.
func ExamplePermits() {
	ctx := context.Background()
	client := example()
	defer client.Close(ctx)
	var calls atomic.Int64

	var jobs sync.WaitGroup
	for range 20 {
		jobs.Go(func() {
			err := client.Do(ctx, "api:weather", func(context.Context, *holdfast.Lock) error {
				if n := calls.Add(1); n > 5 {
					fmt.Println(n, "calls at once")
				}
				calls.Add(-1)
				return nil
			}, holdfast.Permits(1, 5))
			if err != nil {
				log.Fatal(err)
			}
		})
	}
	jobs.Wait()
	fmt.Println("done")
	// Output: done
}

// One of 4 GPUs: the number of the permit is that of the GPU, and each of them is fenced by itself.
func ExampleLock_SlotClaim() {
	ctx := context.Background()
	client := example()
	defer client.Close(ctx)
	gpus := make(map[string]*store) // each keeps a mark of its own

	run := func(l *holdfast.Lock, job string) {
		claim, err := l.SlotClaim(0)
		if err != nil {
			log.Fatal(err)
		}
		if gpus[claim.Resource] == nil {
			gpus[claim.Resource] = new(store)
		}
		if err := gpus[claim.Resource].Write(claim.Resource+" runs "+job, claim.Token); err != nil {
			fmt.Println(claim.Resource, "refuses:", err)
		}
	}
	var locks []*holdfast.Lock
	for range 2 {
		l, err := client.Acquire(ctx, "gpu", holdfast.Permits(1, 4))
		if err != nil {
			log.Fatal(err)
		}
		locks = append(locks, l)
	}
	stale, other := locks[0], locks[1]
	if err := client.Break(ctx, "gpu", 1, "it seems to be stuck"); err != nil {
		log.Fatal(err)
	}
	next, err := client.Acquire(ctx, "gpu", holdfast.Permits(1, 4))
	if err != nil {
		log.Fatal(err)
	}
	run(next, "a new job")
	run(stale, "an old job")
	run(other, "another job")
	// Output:
	// written: gpu#0 runs a new job
	// gpu#0 refuses: token 000000000000001: 000000000000003 has been here
	// written: gpu#1 runs another job
}
