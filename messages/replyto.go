package messages

// ReplyTo says where and how a request wants its answer. Whoever makes one has checked the subject
// with [Prefix.CheckReply].
type ReplyTo struct {
	Subject  string
	Encoding Encoding
}
