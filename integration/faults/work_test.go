//go:build linux

package faults_test

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// warm is how many operations there are before the first fault, warmCount how many increments.
	warm      = 200
	warmCount = 5
	// well and wellCount are how many there are when the last one is over and the cluster is healthy.
	well      = 200
	wellCount = 10
)

// work returns when so many more operations and then increments are over, which those of a healthy cluster
// are soon.
func (t *trial) work(ctx context.Context, operations, increments int) error {
	err := more(ctx, "operations", t.operations, operations)
	if err == nil {
		err = more(ctx, "increments of the register", t.counts.increments, increments)
	}
	if err != nil {
		return errors.Join(err, t.counts.stop())
	}
	return nil
}

func more(ctx context.Context, what string, count func() int, number int) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for want := count() + number; count() < want; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d %s too few within %v, of a cluster that is healthy: %w", want-count(), what, patience,
				ctx.Err())
		}
	}
	return nil
}

// operations returns how many are over.
func (t *trial) operations() (sum int) {
	for _, n := range t.load.Tally() {
		sum += n
	}
	return sum
}
