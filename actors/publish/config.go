package publish

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Sink is where events go. It is called by many shards at once, and by each of them for one batch after
// the other.
type Sink interface {
	// Wants reports whether an event of a resource, whose name is qualified, has to be published: without a receiver it
	// has not.
	Wants(resource string) bool
	// Publish publishes events of one shard, in their order, and returns nil once all of them have
	// arrived for certain. After an error any of them may have arrived; they are published again.
	Publish(ctx context.Context, events []*messages.Event) error
}

// Source is the journal of the shard.
type Source interface {
	// Replay calls apply with every stored record behind position after, in order.
	Replay(ctx context.Context, after uint64, apply func(position uint64, r *journal.Record) error) (last uint64,
		err error)
}

// Config is what a [Publisher] works with. All fields are required.
type Config struct {
	Shard  uint32
	Source Source
	Sink   Sink
	// AfterFunc calls f on a goroutine of its own after d, unless stop is called before.
	AfterFunc func(d time.Duration, f func()) (stop func() bool)
	Log       *slog.Logger
	// Backlog is how many bytes of commits a compaction leaves in the journal to be published, for the log.
	Backlog int
	Counts  *Counts
}

// Counts adds up what the publishers of one shard have done, one after the other. The zero value is ready;
// it is safe for concurrent use.
type Counts struct{ published, lost atomic.Uint64 }

// Published returns how many events were published. An event that was published twice counts twice.
func (c *Counts) Published() uint64 { return c.published.Load() }

// Lost returns how many commits were purged before their events could be published.
func (c *Counts) Lost() uint64 { return c.lost.Load() }
