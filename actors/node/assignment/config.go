package assignment

import (
	"context"
	"log/slog"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node/routing"
	"github.com/holdfast-io/holdfast/messages/peer"
)

// Generation is a generation of shards. Its number is in what the node announces.
type Generation struct {
	// Routers receive where the requests for each shard go.
	Routers routing.Table
	// StartShard begins to open a shard. changed must be called when its standing has changed.
	StartShard func(shard uint32, changed func()) *actors.Shard
	// Endpoint opens or closes a shard's direct endpoint. It reports whether that was done; an endpoint that was not
	// opened is tried again.
	Endpoint func(shard uint32, open bool) bool
}

// Config is what a [Controller] works with. All fields must be set but Audit, First, Leads and TransferLeadership.
type Config struct {
	// Node is what the node announces of itself besides its shards.
	Node *peer.Announcement
	Generation
	Clock actors.Clock
	Log   *slog.Logger
	// Audit receives which nodes came and went; nil: Log does.
	Audit *slog.Logger
	// First: no other node can own a shard yet, so the node does not listen before it participates.
	First bool
	// Leads reports whether the node's own NATS server leads a shard's bucket; nil if that is not known. It must not
	// block.
	Leads func(shard uint32) bool
	// TransferLeadership moves the leadership of a shard's bucket to the NATS server of a node; nil if it stays. It
	// runs on a goroutine of its own.
	TransferLeadership func(ctx context.Context, shard uint32, node string) error
	// Behind is called when another node announces a later generation of shards; nil: there are none. It must not block.
	Behind func()
	// Stopped gets each shard that has ended, from any goroutine.
	Stopped func(*actors.Shard)
	// Announce sends to all nodes, this one included.
	Announce func(*peer.Announcement)
}
