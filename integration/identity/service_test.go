package identity

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/actors/node/identity"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages"
)

// patience bounds every wait. Nothing is measured by it.
const patience = time.Minute

// service is a node that verifies owners, on its embedded NATS server.
type service struct {
	testing.TB
	url string
}

// start starts a service with this mode on a NATS configuration, as the user of login.
func start(tb testing.TB, mode identity.Mode, config string, login nats.Option) *service {
	tb.Helper()
	s, err := server.Start(tb.Context(), configured(tb, mode, config, login))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Stop(); err != nil {
			tb.Error(err)
		}
	})
	return &service{tb, s.ClientURL()}
}

func configured(tb testing.TB, mode identity.Mode, config string, login nats.Option) server.Config {
	tb.Helper()
	return server.Config{
		Config: node.Config{Name: "n1", Identity: mode, Shards: 2, Log: slog.New(slog.DiscardHandler)},
		Alone:  true, Login: []nats.Option{login},
		Embedded: embedded.Config{ConfigFile: stand.NATSConfig(tb, config)},
	}
}

// connect logs a client in.
func (s *service) connect(login ...nats.Option) *nats.Conn {
	s.Helper()
	nc, err := nats.Connect(s.url, append(login, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))...)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(nc.Close)
	return nc
}

// ask sends a request in JSON, with headers if there are any, and returns the answer.
func (s *service) ask(nc *nats.Conn, subject, body string, header ...string) *messages.Reply {
	s.Helper()
	m := &nats.Msg{Subject: subject, Data: []byte(body), Header: nats.Header{}}
	for i := 0; i < len(header); i += 2 {
		m.Header[header[i]] = append(m.Header[header[i]], header[i+1])
	}
	answer, err := nc.RequestMsg(m, patience)
	if err != nil {
		s.Fatalf("%s: %v", subject, err)
	}
	r := &messages.Reply{}
	if err := messages.DecodeReply(messages.JSON, answer.Data, r); err != nil {
		s.Fatal(err)
	}
	return r
}

// wantGranted asks for a lock, and wants it for this owner and identity.
func (s *service) wantGranted(nc *nats.Conn, subject, body, owner, id string, header ...string) {
	s.Helper()
	r := s.ask(nc, subject, body, header...)
	if l := r.GetLease(); r.GetStatus() != messages.Status_GRANTED || l.GetOwner() != owner || l.GetIdentity() != id {
		s.Errorf("%s %s: got %v, want a lease of %q with the identity %q", subject, body, r, owner, id)
	}
}

// wantInvalid asks for something that is refused with this text in the error.
func (s *service) wantInvalid(nc *nats.Conn, subject, body, text string) {
	s.Helper()
	if r := s.ask(nc, subject, body); r.GetStatus() != messages.Status_INVALID ||
		!strings.Contains(r.GetError(), text) {
		s.Errorf("%s %s: got %v, want INVALID with %q", subject, body, r, text)
	}
}

// key is a new nkey of a user.
func key(tb testing.TB) (public string, login nats.Option) {
	tb.Helper()
	pair, err := nkeys.CreateUser()
	if err != nil {
		tb.Fatal(err)
	}
	if public, err = pair.PublicKey(); err != nil {
		tb.Fatal(err)
	}
	return public, nats.Nkey(public, pair.Sign)
}
