//go:build linux

package faults_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// confirmEach is how often losses are looked for.
const confirmEach = 200 * time.Millisecond

// probe takes every resource once more and lets it go: what was held has run out, the queues are empty, and what is
// held back is confirmed. The journal that is checked was read before, so these grants belong to no history.
func (t *trial) probe(ctx context.Context) error {
	errs := make([]error, t.resources)
	var all, confirming sync.WaitGroup
	until, cancel := context.WithCancel(ctx)
	confirming.Go(func() { t.confirm(until) })
	defer confirming.Wait()
	defer cancel()
	for i, name := range t.names() {
		all.Go(func() {
			if err := t.take(ctx, name); err != nil {
				errs[i] = fmt.Errorf("%q in a cluster that is healthy: %w", name, err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// confirm confirms each loss that has to be confirmed, also of a lease that expires only now, until the context ends.
// What cannot be confirmed shows in the resource, which cannot be taken.
func (t *trial) confirm(ctx context.Context) {
	for tick := time.NewTicker(confirmEach); ; {
		for loss, err := range t.client.Lost(ctx, ">") {
			if err == nil && loss.Left == 0 {
				_ = t.client.Confirm(ctx, loss.Resource, loss.Token, t.owner("probe"), "")
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return
		}
	}
}

// pairs is how many a latency is the median of.
const pairs = 21

// measure notes how long a grant and its release take one client when there are no others. None of the four messages
// can be faster than the network.
func (t *trial) measure(ctx context.Context) error {
	took := make([]time.Duration, pairs)
	for i := range took {
		began := time.Now()
		if err := t.take(ctx, t.names()[0]); err != nil {
			return err
		}
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	t.pair = took[pairs/2]
	if took[0] < 4*t.delay {
		return fmt.Errorf("a pair took %v, although each of its four messages takes %v", took[0], t.delay)
	}
	return nil
}

func (t *trial) take(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, t.grantable)
	defer cancel()
	lock, err := t.client.Acquire(ctx, name, holdfast.Owner(t.owner("probe")), holdfast.TTL(patience))
	if err != nil {
		return err
	}
	return lock.Release(ctx)
}
