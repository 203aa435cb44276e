package messages

// ReplyTo is the destination and the encoding of a reply. The subject has passed [Prefix.CheckReply].
type ReplyTo struct {
	Subject  string
	Encoding Encoding
}
