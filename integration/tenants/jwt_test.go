package tenants

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages"
)

// signer is an operator, an account or a user of NATS.
type signer struct {
	nkeys.KeyPair
	public string
}

func newSigner(tb testing.TB, create func() (nkeys.KeyPair, error)) signer {
	tb.Helper()
	pair, err := create()
	if err != nil {
		tb.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		tb.Fatal(err)
	}
	return signer{pair, public}
}

// encode signs claims.
func (s signer) encode(tb testing.TB, c jwt.Claims) string {
	tb.Helper()
	token, err := c.Encode(s.KeyPair)
	if err != nil {
		tb.Fatal(err)
	}
	return token
}

// login is that of a new user of an account.
func (s signer) login(tb testing.TB) nats.Option {
	tb.Helper()
	user := newSigner(tb, nkeys.CreateUser)
	token := s.encode(tb, jwt.NewUserClaims(user.public))
	return nats.UserJWT(func() (string, error) { return token, nil }, user.Sign)
}

// With JWTs the tenant is the public key of the account. An import of the prefix of another delivers nothing.
func TestJWTAccounts(t *testing.T) {
	t.Parallel()
	operator := newSigner(t, nkeys.CreateOperator)
	nodes, system := newSigner(t, nkeys.CreateAccount), newSigner(t, nkeys.CreateAccount)
	a, b := newSigner(t, nkeys.CreateAccount), newSigner(t, nkeys.CreateAccount)
	app := jwt.NewAccountClaims(nodes.public)
	app.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit,
		Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
	app.Exports.Add(
		&jwt.Export{Subject: "holdfast.tenant.*.>", Type: jwt.Service, AccountTokenPosition: 3},
		&jwt.Export{Subject: "holdfast.tenant.*.event.>", Type: jwt.Stream, AccountTokenPosition: 3},
	)
	preload := []string{
		fmt.Sprintf("%s: %s", system.public, operator.encode(t, jwt.NewAccountClaims(system.public))),
		fmt.Sprintf("%s: %s", nodes.public, operator.encode(t, app)),
	}
	for _, of := range []struct{ account, other signer }{{a, b}, {b, a}} {
		claims := jwt.NewAccountClaims(of.account.public)
		for local, account := range map[string]string{"holdfast": of.account.public, "other": of.other.public} {
			prefix := jwt.Subject("holdfast.tenant." + account)
			claims.Imports.Add(
				&jwt.Import{Account: nodes.public, Subject: prefix + ".>",
					LocalSubject: jwt.RenamingSubject(local + ".>"), Type: jwt.Service},
				&jwt.Import{Account: nodes.public, Subject: prefix + ".event.>",
					LocalSubject: jwt.RenamingSubject(local + ".event.>"), Type: jwt.Stream},
			)
		}
		preload = append(preload, fmt.Sprintf("%s: %s", of.account.public, operator.encode(t, claims)))
	}
	config := fmt.Sprintf("operator: %s\nsystem_account: %s\nresolver: MEMORY\nresolver_preload: { %s }\n",
		operator.encode(t, jwt.NewOperatorClaims(operator.public)), system.public, strings.Join(preload, ", "))
	s := start(t, node.TenantLimits{}, func(c *server.Config) {
		c.Login = []nats.Option{nodes.login(t)}
		c.Embedded = embedded.Config{ConfigFile: stand.NATSConfig(t, config)}
		c.Tenants = map[string]node.TenantLimits{a.public: {}, b.public: {}}
	})
	of := func(account signer) *client {
		return &client{t, stand.Dial(t, s.ClientURL(), account.login(t)), account.public, messages.DefaultPrefix}
	}
	first, second := of(a), of(b)
	own, err := first.SubscribeSync("holdfast.event.>")
	if err == nil {
		err = first.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := second.SubscribeSync("other.event.>")
	if err == nil {
		err = second.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	first.acquire("name", "o1")
	if l := second.acquire("name", "o2").GetLease(); l.GetToken() != 1 {
		t.Errorf("got %v, want the first lease of the name", l)
	}
	first.want(messages.Status_HELD, messages.OpGet, "name", "")
	if answer, err := second.Request("other.get.name", nil, patience); err == nil {
		t.Errorf("the prefix of another tenant answers %s", answer.Data)
	}
	if m, err := own.NextMsg(patience); err != nil || m.Subject != "holdfast.event.name" {
		t.Fatalf("got %v, %v, want the event of the tenant", m, err)
	}
	if err := second.Flush(); err != nil { // what was sent to it before is there
		t.Fatal(err)
	}
	if n, _, err := foreign.Pending(); err != nil || n != 0 {
		t.Errorf("%d events of another tenant, %v", n, err)
	}
}
