package messages

// ReplyTo is the destination and the encoding of a reply. The subject has passed [Prefix.CheckReply].
type ReplyTo struct {
	Subject  string
	Encoding Encoding
	// Batched: the reply is the answer to the call of a batch, whose id is Call.
	Batched bool
	Call    uint64
}
