package actors

import "github.com/holdfast-io/holdfast/actors/lease"

// Outbox is how answers leave the node. It is called by many shards at once and must not block.
type Outbox interface {
	// Answer sends the answers, in their order; those of one commit to batches come together. Those to nowhere it
	// drops. The slice belongs to the outbox afterwards.
	Answer(shard uint32, answers []lease.Answer)
}
