package actors

import (
	"context"

	"github.com/holdfast-io/holdfast/messages"
)

// Publisher is how events leave the node. It is called by many shards at once, by each of them for
// one batch after the other.
type Publisher interface {
	// Publish publishes events of one shard, in their order, and returns nil once all of them have
	// surely arrived. After an error any of them may have, and they come again.
	Publish(ctx context.Context, events []*messages.Event) error
}
