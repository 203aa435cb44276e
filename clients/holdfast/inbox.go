package holdfast

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// try is one message on its way. Every one has a reply subject of its own, to know which of several the
// answer is to: a lease is counted from when that one was sent.
type try struct {
	asker    asker
	sent     time.Time
	encoding messages.Encoding
	direct   bool
}

// asker is who sent a try. Its answer comes on the goroutine of the client's subscription, which it
// must not hold up.
type asker interface {
	answered(answer)
}

// answer is what came back to a try.
type answer struct {
	*try
	id  uint64
	msg *nats.Msg
}

var errDisconnected = errors.New("not connected to NATS")

// statusNobody is what NATS answers when nobody listens.
const statusNobody = "503"

// replyBase makes the reply subjects short.
const replyBase = 36

// send sends a message once and returns the number of the try, which [Client.forget] ends.
func (c *Client) send(a asker, to door, m proto.Message) (uint64, error) {
	payload, err := messages.Encode(messages.Protobuf, m)
	if err != nil {
		return 0, err
	}
	if !c.nc.IsConnected() {
		return 0, errDisconnected // else it would leave later than anybody knows
	}
	t := &try{asker: a, sent: time.Now(), direct: to.direct, encoding: messages.EncodingOf("", payload)}
	c.mu.Lock()
	c.lastTry++
	id := c.lastTry
	c.tries[id] = t
	c.mu.Unlock()
	if err := c.nc.PublishRequest(to.subject, c.inbox+strconv.FormatUint(id, replyBase), payload); err != nil {
		c.forget(id)
		return 0, err
	}
	return id, nil
}

// forget makes the answers to the tries strays.
func (c *Client) forget(ids ...uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		delete(c.tries, id)
	}
}

// route takes an answer to whoever asked.
func (c *Client) route(m *nats.Msg) {
	id, err := strconv.ParseUint(strings.TrimPrefix(m.Subject, c.inbox), replyBase, 64)
	if err != nil {
		return // nobody was told of such a subject
	}
	c.mu.Lock()
	t := c.tries[id]
	delete(c.tries, id)
	c.mu.Unlock()
	if t == nil {
		c.stray(m)
		return
	}
	t.asker.answered(answer{t, id, m})
}

// stray takes in an answer for which nobody waits any more. A lease that was granted so late belongs to
// nobody, and is given back at once.
func (c *Client) stray(m *nats.Msg) {
	var r messages.Reply
	if messages.DecodeReply(messages.Protobuf, m.Data, &r) != nil || r.GetStatus() != messages.Status_GRANTED {
		return
	}
	c.giveBack(r.GetLease())
}

// giveBack releases a lease, unless it is one that is held here.
func (c *Client) giveBack(l *messages.Lease) {
	claim := messages.Claim{Resource: l.GetResource(), Token: Token(l.GetToken())}
	c.mu.Lock()
	_, ours := c.holds[claim]
	c.mu.Unlock()
	if !ours {
		c.background(func() {
			_, _ = c.ask(c.life, messages.OpRelease, claim.Resource,
				&messages.ReleaseRequest{Owner: l.GetOwner(), Token: l.GetToken()})
		})
	}
}

// nobody reports whether NATS itself answered, because nobody listens.
func (a answer) nobody() bool {
	return len(a.msg.Data) == 0 && a.msg.Header.Get("Status") == statusNobody
}

// reply returns the answer of a node, nil if nobody was there.
func (a answer) reply() (*messages.Reply, error) {
	if a.nobody() {
		return nil, nil
	}
	var r messages.Reply
	if err := messages.DecodeReply(a.encoding, a.msg.Data, &r); err != nil {
		return nil, err
	}
	return &r, nil
}

// failed reports whether the answer to a listing, which has no status, is a refusal.
func (a answer) failed() bool { return a.msg.Header.Get(messages.HeaderServiceError) != "" }
