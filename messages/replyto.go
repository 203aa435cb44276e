package messages

import "time"

// ReplyTo is the destination and the encoding of a reply, with the origin of its request. The subject has passed
// [Prefix.CheckReply].
type ReplyTo struct {
	Subject  string
	Encoding Encoding
	// Batched: the reply is the answer to the call of a batch, whose id is Call.
	Batched bool
	Call    uint64
	Origin  Origin
}

// Origin is what the node that takes a request in knows of it. It stays with the request until its answer leaves, and
// only nodes look into it: below them it is data. The zero Origin is that of a request of the node's own.
type Origin struct {
	// Tenant is the account in whose namespace the request is; empty: in that of no tenant. Identity is who the sender
	// is, as NATS has verified it; empty: that was not asked for.
	Tenant, Identity string
	// Inner: the request is a node's part of a client's request, and the reply is not counted as an answer to a client.
	// Wanted is then how many wanted resources the reply to a keep may name.
	Inner  bool
	Wanted int
	// Former: the request came on a direct subject of a former generation of shards, and the reply says which is in use.
	Former bool
	// Operation is that of the request; empty if it has none. Received is when the request came, by the clock of its
	// receiver; 0: nobody counts that. They are for the receiver's statistics, and not sent.
	Operation Operation
	Received  time.Duration
	// Trace is what the receiver notes about the request if it is traced, else nil. Not sent.
	Trace *Trace
}
