package contract

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// patience bounds every wait for an answer that must come.
const patience = 20 * time.Second

// client asks a node in JSON, as a person with the nats tool would.
type client struct {
	testing.TB
	nc *nats.Conn
}

func start(t *testing.T) (*stand.Stand, *client) {
	t.Helper()
	s := stand.Start(t, stand.Config{Shards: 4})
	return s, &client{t, s.Connect()}
}

// send sends a request as it is and returns the answer as it is.
func (c *client) send(m *nats.Msg) *nats.Msg {
	c.Helper()
	answer, err := c.nc.RequestMsg(m, patience)
	if err != nil {
		c.Fatalf("%s %q: %v", m.Subject, excerpt(m.Data), err)
	}
	return answer
}

// ask sends JSON and returns the answer, which must be JSON too.
func (c *client) ask(subject, json string) *messages.Reply {
	c.Helper()
	return c.decode(messages.JSON, c.send(&nats.Msg{Subject: subject, Data: []byte(json)}))
}

func (c *client) decode(e messages.Encoding, m *nats.Msg) *messages.Reply {
	c.Helper()
	var r messages.Reply
	if err := messages.DecodeReply(e, m.Data, &r); err != nil {
		c.Fatalf("%q: %v", excerpt(m.Data), err)
	}
	return &r
}

// want asks and checks the status, and the token unless it is 0.
func (c *client) want(status messages.Status, token uint64, subject, json string) *messages.Reply {
	c.Helper()
	r := c.ask(subject, json)
	if r.GetStatus() != status || token != 0 && r.GetLease().GetToken() != token {
		c.Fatalf("%s %s: got %s, want %s token %d", subject, json, r, status, token)
	}
	return r
}

// wantInvalid checks a refusal of something that breaks a rule: that it says so to people and to
// programs, and that it names what is wrong.
func (c *client) wantInvalid(m *nats.Msg, e messages.Encoding, words ...string) {
	c.Helper()
	answer := c.send(m)
	r := c.decode(e, answer)
	if r.GetStatus() != messages.Status_INVALID {
		c.Fatalf("%s %q: got %s, want INVALID", m.Subject, excerpt(m.Data), r)
	}
	for _, w := range words {
		if !strings.Contains(r.GetError(), w) {
			c.Errorf("%s: the error %q does not say %q", m.Subject, r.GetError(), w)
		}
	}
	if got := answer.Header.Get(messages.HeaderServiceErrorCode); got != "400" {
		c.Errorf("%s: service error code %q, want 400", m.Subject, got)
	}
	if got := answer.Header.Get(messages.HeaderServiceError); got != r.GetError() {
		c.Errorf("%s: service error %q, want %q", m.Subject, got, r.GetError())
	}
}

// wantNothing checks that a request has no answer, by a request behind it that has one.
func (c *client) wantNothing(inbox *nats.Subscription, ask func()) {
	c.Helper()
	ask()
	if err := c.nc.Flush(); err != nil {
		c.Fatal(err)
	}
	if m, err := inbox.NextMsg(0); !errors.Is(err, nats.ErrTimeout) {
		c.Fatalf("got an answer: %v (%v)", m, err)
	}
}

// until asks again and again until it is so.
func (c *client) until(what string, is func() bool) {
	c.Helper()
	for since := time.Now(); !is(); {
		if time.Since(since) > patience {
			c.Fatalf("timed out waiting until %s", what)
		}
	}
}

func excerpt(b []byte) string { return string(b[:min(len(b), 100)]) }
