package node

import (
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// protobufType tells the encoding where an empty payload does not.
	protobufType = "application/protobuf"
	jsonType     = "application/json"
	// headerHops counts how often a request was sent on. It is believed at the nodes' own door only.
	headerHops = "Holdfast-Hops"
	// maxHops bounds that, while nodes disagree about an owner: two hand-overs in a row, and one to spare.
	maxHops = 4
)

// letter is a request as it came: it can be handed to a shard here, or be sent on.
type letter struct {
	op   messages.Operation
	key  string
	to   messages.ReplyTo
	data []byte
	hops int
	// held is since when it has been waiting for an owner.
	held lease.Instant
}

// message is the letter on its way to another node's door.
func (l letter) message(subject string) *nats.Msg {
	contentType := protobufType
	if l.to.Encoding == messages.JSON {
		contentType = jsonType
	}
	return &nats.Msg{
		Subject: subject, Reply: l.to.Subject, Data: l.data,
		Header: nats.Header{messages.HeaderContentType: {contentType}, headerHops: {strconv.Itoa(l.hops + 1)}},
	}
}

// hops reads how often a message was sent on; one that does not say was so for the last time.
func hops(h nats.Header) int {
	n, err := strconv.Atoi(h.Get(headerHops))
	if err != nil || n < 0 {
		return maxHops
	}
	return n
}

// encoding is how a letter from another node is written, and wants its answer.
func encoding(h nats.Header, data []byte) messages.Encoding {
	if h.Get(messages.HeaderContentType) == protobufType {
		return messages.Protobuf
	}
	return messages.EncodingOf(contentType(h), data)
}

// letterOf is the request of a shard as it came, but for the wait that has passed; not ok if nobody is to
// be answered.
func letterOf(r *actors.Request) (l letter, ok bool, err error) {
	var body proto.Message
	switch e := r.Event.(type) {
	case lease.Acquire:
		l.op, l.to, body = messages.OpAcquire, e.From, e.Request
	case lease.Release:
		l.op, l.to, body = messages.OpRelease, e.From, e.Request
	case lease.Extend:
		l.op, l.to, body = messages.OpExtend, e.From, e.Request
	case lease.Get:
		l.op, l.to, body = messages.OpGet, e.From, e.Request
	case lease.Break:
		l.op, l.to, body = messages.OpBreak, e.From, e.Request
	default:
		return letter{}, false, nil
	}
	if l.key, err = messages.EncodeKey(r.Resource); err == nil {
		l.data, err = messages.Encode(l.to.Encoding, body)
	}
	if err != nil {
		return l, true, fmt.Errorf("send on a request for %q: %w", r.Resource, err)
	}
	return l, true, nil
}

// after is the letter when it has been held for so long: that is off its wait, but for a millisecond, so
// that who wanted to wait still does.
func (l letter) after(d time.Duration) letter {
	var r messages.AcquireRequest
	if l.op != messages.OpAcquire || d < time.Millisecond || messages.Decode(l.to.Encoding, l.data, &r) != nil || r.GetWaitMs() == 0 {
		return l
	}
	r.WaitMs = uint32(max(int64(r.GetWaitMs())-d.Milliseconds(), 1))
	if data, err := messages.Encode(l.to.Encoding, &r); err == nil {
		l.data = data
	}
	return l
}
