package actors

import (
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// Probe asks whether a subject on which the client of a session listens has a listener.
type Probe struct {
	Shard   uint32
	Session lease.SessionKey
	// Number distinguishes the probes of a shard.
	Number  uint64
	Subject string
}

// Notice goes to a subject on which the client of a session listens.
type Notice struct {
	Subject  string
	Encoding messages.Encoding
	Notice   *messages.Notice
}

// Prober is how probes and notices leave the node. It is called by many shards at once and must not block.
type Prober interface {
	// Probe publishes an empty message. If NATS reports that it has no listener, [Shard.NoListener] is called;
	// otherwise nothing is.
	Probe(p Probe)
	// Notify publishes a notice, which may be lost.
	Notify(n Notice)
}
