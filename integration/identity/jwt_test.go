package identity

import (
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/holdfast-io/holdfast/actors/node/identity"
)

// operator is a NATS operator with one account.
type operator struct {
	testing.TB
	pair, account nkeys.KeyPair
}

// member is a user with a JWT.
type member struct {
	token, public string
	pair          nkeys.KeyPair
}

func (o *operator) must(err error) {
	o.Helper()
	if err != nil {
		o.Fatal(err)
	}
}

func newOperator(t *testing.T) *operator {
	t.Helper()
	o := &operator{TB: t}
	var err error
	o.pair, err = nkeys.CreateOperator()
	o.must(err)
	o.account, err = nkeys.CreateAccount()
	o.must(err)
	return o
}

func (o *operator) public(pair nkeys.KeyPair) string {
	o.Helper()
	public, err := pair.PublicKey()
	o.must(err)
	return public
}

// user returns a new user of the account.
func (o *operator) user() member {
	o.Helper()
	pair, err := nkeys.CreateUser()
	o.must(err)
	claims := jwt.NewUserClaims(o.public(pair))
	claims.Name = "a name that is no identity"
	token, err := claims.Encode(o.account)
	o.must(err)
	return member{token, o.public(pair), pair}
}

// login logs a user in, with further options of the connection.
func (m member) login() nats.Option {
	return nats.UserJWT(func() (string, error) { return m.token, nil }, m.pair.Sign)
}

// sign signs the nonce of a server, as a login does.
func (m member) sign(tb testing.TB, nonce string) string {
	tb.Helper()
	signature, err := m.pair.Sign([]byte(nonce))
	if err != nil {
		tb.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(signature)
}

// userJWT returns a user of an operator that no server trusts.
func userJWT(t *testing.T) member {
	t.Helper()
	return newOperator(t).user()
}

// config is that of a server which trusts the operator. The account exports the service to itself.
func (o *operator) config() string {
	o.Helper()
	claims := jwt.NewOperatorClaims(o.public(o.pair))
	op, err := claims.Encode(o.pair)
	o.must(err)
	system, err := nkeys.CreateAccount()
	o.must(err)
	sys, err := jwt.NewAccountClaims(o.public(system)).Encode(o.pair)
	o.must(err)
	app := jwt.NewAccountClaims(o.public(o.account))
	app.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit,
		Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
	app.Exports.Add(&jwt.Export{Subject: "holdfast.>", Type: jwt.Service})
	app.Imports.Add(&jwt.Import{Account: o.public(o.account), Subject: "holdfast.>", LocalSubject: "locks.>",
		Type: jwt.Service, Share: true})
	token, err := app.Encode(o.pair)
	o.must(err)
	return fmt.Sprintf("operator: %s\nsystem_account: %s\nresolver: MEMORY\nresolver_preload: { %s: %s, %s: %s }\n",
		op, o.public(system), o.public(system), sys, o.public(o.account), token)
}

// With JWTs the owner is the public key of the user, whatever the client claims beside its JWT.
func TestJWT(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	node, alice := o.user(), o.user()
	s := start(t, identity.User, o.config(), node.login())
	for i, claim := range [][]nats.Option{
		nil,
		{nats.UserInfo("bob", "b")},
		{nats.Token("bob")},
		{nats.Name("bob")},
	} {
		nc := s.connect(append([]nats.Option{alice.login()}, claim...)...)
		s.wantGranted(nc, fmt.Sprint("locks.acquire.", i), `{`+grant, alice.public, alice.public, header, forged)
		s.wantInvalid(nc, fmt.Sprint("locks.acquire.x", i), `{"owner":"bob",`+grant, another)
	}
}
