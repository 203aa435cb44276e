package tenants

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// patience bounds every wait. Nothing is measured by it.
	patience = time.Minute
	// first and second are accounts that are tenants, stranger is one that is not. The names occur nowhere else.
	first, second, stranger = "TENANT-ALPHA", "TENANT-BETA", "TENANT-GAMMA"
)

// accounts is the configuration of the account of the nodes and of three others.
func accounts(share bool) string {
	text := `accounts: {
  NODES: {
    jetstream: enabled
    users: [ { user: node, password: n } ]
    exports: [
      { service: "holdfast.tenant.*.>", account_token_position: 3, response_threshold: "65m" }
      { stream: "holdfast.tenant.*.event.>", account_token_position: 3 }
    ]
  }
`
	for _, account := range []string{first, second, stranger} {
		text += fmt.Sprintf(`  %[1]s: {
    users: [ { user: "of-%[1]s", password: p } ]
    imports: [
      { service: { account: NODES, subject: "holdfast.tenant.%[1]s.>" }, to: "holdfast.>", share: %[2]t }
      { stream: { account: NODES, subject: "holdfast.tenant.%[1]s.event.>" }, to: "holdfast.event.>" }
    ]
  }
`, account, share)
	}
	return text + "}\n"
}

// service is a node with tenants, on its embedded NATS server.
type service struct {
	testing.TB
	*server.Server
}

// start starts a service whose tenants are first and second, with these limits.
func start(tb testing.TB, limits node.TenantLimits, change ...func(*server.Config)) *service {
	tb.Helper()
	cfg := server.Config{
		Config: node.Config{
			Name: "n1", Shards: 2, Log: slog.New(slog.DiscardHandler),
			Tenants: map[string]node.TenantLimits{first: limits, second: {}},
		},
		Alone: true, Login: []nats.Option{nats.UserInfo("node", "n")},
		Embedded: embedded.Config{ConfigFile: stand.NATSConfig(tb, accounts(false))},
	}
	for _, c := range change {
		c(&cfg)
	}
	running, err := server.Start(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := running.Stop(); err != nil {
			tb.Error(err)
		}
	})
	return &service{tb, running}
}

// client is a connection of one account.
type client struct {
	testing.TB
	*nats.Conn
	account string
	prefix  messages.Prefix
}

// as logs a client of an account in.
func (s *service) as(account string) *client {
	s.Helper()
	return dial(s, s.ClientURL(), account)
}

func dial(tb testing.TB, url, account string) *client {
	tb.Helper()
	return &client{tb, stand.Dial(tb, url, nats.UserInfo("of-"+account, "p")), account, messages.DefaultPrefix}
}

// operator logs an operator in, who uses the prefix of a tenant; an empty name is none.
func (s *service) operator(tenant string) *client {
	s.Helper()
	c := &client{s, stand.Dial(s, s.ClientURL(), nats.UserInfo("node", "n")), "", messages.DefaultPrefix}
	if tenant != "" {
		c.prefix = c.prefix.Tenant(tenant)
	}
	return c
}

// send sends a request and returns the answer, in which no tenant may find an account.
func (c *client) send(subject, body string) *nats.Msg {
	c.Helper()
	answer, err := c.Request(subject, []byte(body), patience)
	if err != nil {
		c.Fatalf("%s %s: %v", subject, body, err)
	}
	c.wantHidden(answer)
	return answer
}

// wantHidden fails the test if a message to a tenant has the name of an account.
func (c *client) wantHidden(m *nats.Msg) {
	c.Helper()
	text := m.Reply + string(m.Data) + fmt.Sprint(m.Header)
	for _, account := range []string{first, second, stranger, "NODES", `\u001f`, "\x1f"} {
		if c.account != "" && strings.Contains(text, account) {
			c.Errorf("%s got a message on %s with %q: %q", c.account, m.Subject, account, text)
		}
	}
}

// ask sends a request about a key, or a session, and returns the answer.
func (c *client) ask(op messages.Operation, key, body string) *messages.Reply {
	c.Helper()
	r := &messages.Reply{}
	if err := messages.DecodeReply(messages.JSON, c.send(c.prefix.Operation(op, key), body).Data, r); err != nil {
		c.Fatal(err)
	}
	return r
}

// want asks, and wants an answer with this status, which it returns.
func (c *client) want(status messages.Status, op messages.Operation, key, body string) *messages.Reply {
	c.Helper()
	r := c.ask(op, key, body)
	if r.GetStatus() != status {
		c.Errorf("%s: %s of %s with %s: got %v, want %s", c.account, op, key, body, r, status)
	}
	return r
}

// acquire wants a lock for an owner.
func (c *client) acquire(key, owner string) *messages.Reply {
	c.Helper()
	return c.want(messages.Status_GRANTED, messages.OpAcquire, key, fmt.Sprintf(`{"owner":%q,"ttl_ms":60000}`, owner))
}

// list returns a page of a listing.
func (c *client) list(body string) *messages.ListReply {
	c.Helper()
	r := &messages.ListReply{}
	if err := messages.DecodeReply(messages.JSON, c.send(c.prefix.List(), body).Data, r); err != nil {
		c.Fatal(err)
	}
	return r
}

func (c *client) info() *messages.Info {
	c.Helper()
	i := &messages.Info{}
	if err := messages.DecodeReply(messages.JSON, c.send(c.prefix.Info(), "").Data, i); err != nil {
		c.Fatal(err)
	}
	return i
}
