package holdfast

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

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
	// unsent is why the try has not left, nil if it has. There is no msg then.
	unsent error
	// alone: no other try of the same request can have had an effect.
	alone bool
}

// statusNobody is what NATS answers when nobody listens.
const statusNobody = "503"

// replyBase makes the reply subjects short.
const replyBase = 36

// send lets a message leave once and returns the number of the try, which [Client.forget] ends. It does
// not block: a message that cannot leave is answered with the reason.
func (c *Client) send(a asker, to door, payload []byte) uint64 {
	t := &try{asker: a, sent: time.Now(), direct: to.direct, encoding: messages.EncodingOf("", payload)}
	c.mu.Lock()
	c.lastTry++
	id := c.lastTry
	c.tries[id] = t
	c.letters = append(c.letters, letter{id: id, subject: to.subject, payload: payload})
	c.mu.Unlock()
	c.stir()
	return id
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
	if t := c.take(id); t != nil {
		a := answer{try: t, id: id, msg: m}
		if a.direct && !a.nobody() {
			c.detour.end()
		}
		t.asker.answered(a)
		return
	}
	c.stray(m)
}

// take returns a try whose answer has come, nil if nobody waits for that any more.
func (c *Client) take(id uint64) *try {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tries[id]
	delete(c.tries, id)
	return t
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

// giveBack has a lease released, unless it is one that is held here. It does not wait for that.
func (c *Client) giveBack(l *messages.Lease) {
	claim := messages.Claim{Resource: l.GetResource(), Token: Token(l.GetToken())}
	if !c.returns(claim, l.GetOwner(), nil) {
		return
	}
	release := &messages.ReleaseRequest{Owner: l.GetOwner(), Token: l.GetToken()}
	c.later(time.Now().Add(millis(l.GetTtlMs())), func(ctx context.Context) bool {
		_, done := c.clear(ctx, messages.OpRelease, claim.Resource, release)
		return done
	}, func() { c.forgive(party{claim.Resource, l.GetOwner()}) })
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
