//go:build linux

package faults_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// probe takes every resource once more and lets it go: what was held has run out, and the queues are empty.
// The journal that is checked was read before, so these grants belong to no history.
func (t *trial) probe(ctx context.Context) error {
	errs := make([]error, t.resources)
	var all sync.WaitGroup
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

func (t *trial) take(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, t.grantable)
	defer cancel()
	lock, err := t.client.Acquire(ctx, name, holdfast.Owner("probe"), holdfast.TTL(patience))
	if err != nil {
		return err
	}
	return lock.Release(ctx)
}
