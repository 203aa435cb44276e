package holdfast

import (
	"errors"
	"sync"
	"sync/atomic"
)

// maxCalls bounds how many locks are acquired, extended or released concurrently.
const maxCalls = 256

// each calls f for all elements concurrently, and returns the errors in their order.
func each[E any](all []E, f func(E) error) error {
	errs := make([]error, len(all))
	concurrently(len(all), func(i int) { errs[i] = f(all[i]) })
	return errors.Join(errs...)
}

// concurrently calls f for 0 to n-1, the last first, and returns when all calls have returned.
func concurrently(n int, f func(i int)) {
	var left atomic.Int64
	left.Store(int64(n))
	var calls sync.WaitGroup
	for range min(n, maxCalls) {
		calls.Go(func() {
			for i := left.Add(-1); i >= 0; i = left.Add(-1) {
				f(int(i))
			}
		})
	}
	calls.Wait()
}
