//go:build linux

package cluster

import (
	"context"
	"fmt"
	"time"
)

// patience bounds every single step on a busy machine. Nothing is measured by it.
const patience = 30 * time.Second

// eventually tries something until it succeeds, and returns why it did not the last time if time is up.
func eventually(ctx context.Context, within time.Duration, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		if err := try(ctx); err == nil {
			return nil
		} else if ctx.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %v: %w", within, last)
		case <-tick.C:
		}
	}
}
