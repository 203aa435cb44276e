package messages

import "time"

// ReplyTo is the destination and the encoding of a reply. The subject has passed [Prefix.CheckReply].
type ReplyTo struct {
	Subject  string
	Encoding Encoding
	// Batched: the reply is the answer to the call of a batch, whose id is Call.
	Batched bool
	// Inner: the reply is the answer to a node's part of a client's request, and is not counted as an answer to a client.
	Inner bool
	Call  uint64
	// Tenant is the account in whose namespace the request is; empty: in that of no tenant. Identity is who the sender is,
	// as NATS has verified it; empty: that was not asked for.
	Tenant, Identity string
	// Operation is that of the request; empty if it has none. Received is when the request came, by the clock of its
	// receiver, and Queued says that it has waited in a queue since. They are for the receiver's statistics, and not sent.
	Operation Operation
	Received  time.Duration
	Queued    bool
	// Trace is what the receiver notes about the request if it is traced, else nil. Not sent.
	Trace *Trace
}
