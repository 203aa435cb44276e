package request

import (
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// Answer is what came back to one attempt: a node's answer, a report of NATS that no node listens, or the
// reason why the attempt was not sent. It is not safe for concurrent use.
type Answer struct {
	// ID is the number of the attempt, as [Sender.Send] returned it.
	ID uint64
	// Sent is when the attempt was handed over, on the clock that counts the time of a suspend, which is ahead of that
	// of [time.Now]. A lease that it granted is counted from then.
	Sent time.Time
	// NotSent is why the attempt was not sent; nil if it was. Then there is nothing to decode.
	NotSent error
	// Alone: no other attempt of the same request can have had an effect. Only [Exchange.Run] sets it.
	Alone bool

	direct   bool
	encoding messages.Encoding
	msg      *nats.Msg
	// reply and err are what the message was decoded to, if it was. The answer to a call of a batch has no message.
	reply   *messages.Reply
	err     error
	decoded bool
}

// statusNoResponders is the header Status of the message by which NATS reports that.
const statusNoResponders = "503"

// NoResponders reports whether NATS itself answered, because no node listens.
func (a *Answer) NoResponders() bool { return a.msg != nil && noResponders(a.msg) }

func noResponders(m *nats.Msg) bool {
	return len(m.Data) == 0 && m.Header.Get("Status") == statusNoResponders
}

// Reply returns a node's answer, and nil if there is none. It decodes the message the first time only.
func (a *Answer) Reply() (*messages.Reply, error) {
	if !a.decoded {
		if a.msg == nil || a.NoResponders() {
			return nil, nil
		}
		r := new(messages.Reply)
		if a.err = messages.DecodeReply(a.encoding, a.msg.Data, r); a.err == nil {
			a.reply = r
		}
		a.decoded = true
	}
	return a.reply, a.err
}

// grants reports whether the answer grants a lease.
func (a *Answer) grants() bool {
	r, err := a.Reply()
	return err == nil && r.GetStatus() == messages.Status_GRANTED
}

// Decode reads an answer that is no Reply, such as a page of a listing, into m. If the node refused the
// request, it returns a [*Refusal].
func (a *Answer) Decode(m proto.Message) error {
	if a.failed() {
		if r, err := a.Reply(); err == nil {
			return &Refusal{r}
		}
	}
	return messages.DecodeReply(a.encoding, a.msg.Data, m)
}

// failed reports whether a header says that the answer is a refusal.
func (a *Answer) failed() bool { return a.msg.Header.Get(messages.HeaderServiceError) != "" }

// Encode writes a request in protobuf. It panics if a string of m is not UTF-8; [messages.Limits.Check]
// refuses such a request.
func Encode(m proto.Message) []byte {
	payload, err := messages.Encode(messages.Protobuf, m)
	if err != nil {
		panic(err)
	}
	return payload
}

// Withdrawal returns the release that takes a request to acquire out of the queue: CANCELLED says that it
// was there, and will not be granted. It never releases a lease that the owner holds: its token is one that
// no lease has. An answer other than CANCELLED leaves open whether the request was granted.
func Withdrawal(owner, requestID string, secret []byte) *messages.ReleaseRequest {
	return &messages.ReleaseRequest{Owner: owner, Token: uint64(messages.MaxToken), RequestId: requestID,
		Secret: secret}
}
