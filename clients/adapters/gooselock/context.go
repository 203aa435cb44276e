package gooselock

import (
	"context"

	"github.com/holdfast-io/holdfast/clients/adapters/internal/run"
)

// Context returns a context for one call of goose, such as Up. When the lock that goose acquires with it is lost, it
// ends with a cause that is [holdfast.ErrLost]: then database/sql interrupts the statement that runs, and rolls the
// transaction back. It ends also when goose unlocks. Under the lock it carries the token for guards, which migrations
// in Go receive.
//
// Without it the loss is known when goose unlocks.
func Context(ctx context.Context) (context.Context, context.CancelFunc) {
	return run.Context(ctx, runKey{})
}

// runKey is the key of these contexts.
type runKey struct{}
