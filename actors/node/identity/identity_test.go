package identity_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/actors/node/identity"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/blindtest"
)

const header = "Nats-Request-Info"

// account signs the JWTs of users.
type account struct {
	testing.TB
	pair   nkeys.KeyPair
	public string
}

func newAccount(tb testing.TB) *account {
	tb.Helper()
	pair, err := nkeys.CreateAccount()
	if err != nil {
		tb.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		tb.Fatal(err)
	}
	return &account{tb, pair, public}
}

// user returns a user with its JWT.
func (a *account) user() (public, token string) {
	a.Helper()
	pair, err := nkeys.CreateUser()
	if err == nil {
		public, err = pair.PublicKey()
	}
	if err == nil {
		token, err = jwt.NewUserClaims(public).Encode(a.pair)
	}
	if err != nil {
		a.Fatal(err)
	}
	return public, token
}

func info(fields map[string]string) nats.Header {
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return nats.Header{header: {string(text)}}
}

// The identity is what NATS has verified, and never what a client could have claimed.
func TestOf(t *testing.T) {
	a, b := newAccount(t), newAccount(t)
	alice, token := a.user()
	signature := strings.LastIndexByte(token, '.') + 1
	other := "A"
	if token[signature] == 'A' {
		other = "B"
	}
	broken := token[:signature] + other + token[signature+1:]
	both := info(map[string]string{"acc": "APP", "user": "alice"})
	both[header] = append(both[header], both[header]...)
	for name, test := range map[string]struct {
		mode   identity.Mode
		header nats.Header
		want   string
		err    string // a part of it
	}{
		"Account": {identity.Account, info(map[string]string{"acc": "APP"}), "APP", ""},
		"Name":    {identity.User, info(map[string]string{"acc": "APP", "user": "alice"}), "alice", ""},
		"NKey":    {identity.User, info(map[string]string{"user": alice, "issuer_key": "APP"}), alice, ""},
		"JWT": {identity.User, info(map[string]string{"user": "bob", "jwt": token,
			"issuer_key": a.public}), alice, ""},
		"ClaimedJWT": {identity.User, info(map[string]string{"user": "bob", "jwt": token}), "bob", ""},
		"ClaimedJWTOfNKey": {identity.User, info(map[string]string{"user": "bob", "jwt": token, "issuer_key": "APP"}),
			"bob", ""},
		"OtherIssuer": {identity.User, info(map[string]string{"user": "bob", "jwt": token,
			"issuer_key": b.public}), "", "issuer"},
		"BrokenJWT": {identity.User, info(map[string]string{"user": "bob", "jwt": broken,
			"issuer_key": a.public}), "", "issuer"},
		"Callout": {identity.User, info(map[string]string{"user": "carol", "issuer_key": a.public}), "carol",
			""},
		"NoHeader":     {identity.User, nats.Header{"nats-request-info": both[header][:1]}, "", "service import"},
		"TwoHeaders":   {identity.User, both, "", "one header"},
		"NoShare":      {identity.User, info(map[string]string{"acc": "APP"}), "", "share: true"},
		"Token":        {identity.User, info(map[string]string{"user": "[REDACTED]"}), "", "with a name"},
		"NoAccount":    {identity.Account, info(map[string]string{"user": "alice"}), "", "bytes"},
		"Slash":        {identity.User, info(map[string]string{"user": "alice/admin"}), "", "without slashes"},
		"AccountSlash": {identity.Account, info(map[string]string{"acc": "APP/A"}), "", "without slashes"},
		"Space": {identity.User, info(map[string]string{"user": " alice"}), "",
			"without slashes, and without spaces"},
		"Control": {identity.User, info(map[string]string{"user": "a\nb"}), "", "control"},
		"Long": {identity.User, info(map[string]string{"user": strings.Repeat("a", 201)}), "",
			"1 to 200 bytes"},
		"LongHeader": {identity.User, nats.Header{header: {strings.Repeat("a", 65<<10)}}, "", "at most"},
		"NoJSON":     {identity.User, nats.Header{header: {"alice"}}, "", "JSON"},
	} {
		v := identity.New(test.mode)
		for range 2 { // the second time out of the cache
			got, err := v.Of(&nats.Msg{Header: test.header})
			if got != test.want || (err != nil) != (test.err != "") {
				t.Errorf("%s: got %q, %v, want %q, %q", name, got, err, test.want, test.err)
			}
			if err != nil && (!errors.Is(err, messages.ErrInvalid) || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("%s: got %v, want an InvalidError with %q", name, err, test.err)
			}
		}
	}
}

// The owner of a request is the identity, or begins with it and a slash.
func TestOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-c/]{0,4}`)
		id, owner := "a"+name.Draw(t, "identity"), name.Draw(t, "owner")
		r := &messages.AcquireRequest{Owner: owner}
		err := identity.Own(id, r)
		switch {
		case owner == "":
			if err != nil || r.GetOwner() != id {
				t.Fatalf("no owner became %q, %v", r.GetOwner(), err)
			}
		case owner == id || strings.HasPrefix(owner, id+"/"):
			if err != nil || r.GetOwner() != owner {
				t.Fatalf("%q of %q became %q, %v", owner, id, r.GetOwner(), err)
			}
		case err == nil || r.GetOwner() != owner:
			t.Fatalf("%q is taken for %q", owner, id)
		}
	})
}

// Every request with an owner, or about a session, needs a verified sender, unless senders are not verified.
func TestNeeded(t *testing.T) {
	if identity.New(identity.None) != nil {
		t.Error("there is a verifier, and senders are not verified")
	}
	for _, op := range messages.Operations {
		field := messages.NewRequest(op).ProtoReflect().Descriptor().Fields().ByName("owner")
		if want := field != nil || op.OfSession(); identity.Needed(op) != want {
			t.Errorf("%s: needed %t, want %t", op, identity.Needed(op), want)
		}
		r := messages.NewRequest(op)
		if err := identity.Own("alice", r); err != nil ||
			field != nil && r.ProtoReflect().Get(field).String() != "alice" {
			t.Errorf("%s: the owner is not filled in: %v, %v", op, r, err)
		}
	}
}

func TestParseMode(t *testing.T) {
	for _, name := range identity.Modes() {
		if m, err := identity.ParseMode(name); err != nil || m.String() != name {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
	if _, err := identity.ParseMode("users"); err == nil || !strings.Contains(err.Error(), "none, account, user") {
		t.Errorf("got %v", err)
	}
}

// FuzzOf: whatever the header is, an identity is a valid beginning of an owner, and only one of those in the header.
func FuzzOf(f *testing.F) {
	target := blindtest.New(f)
	target.Add(`{"acc":"APP","user":"alice","jwt":"x.y.z","issuer_key":"APP"}`)
	target.Add(`{"acc":"APP","user":"[REDACTED]"}`)
	target.Fuzz(func(t *testing.T, text string) {
		for _, mode := range []identity.Mode{identity.Account, identity.User} {
			id, err := identity.New(mode).Of(&nats.Msg{Header: nats.Header{header: {text}}})
			if (err == nil) != (id != "") || err != nil && !errors.Is(err, messages.ErrInvalid) {
				t.Fatalf("%q, %v", id, err)
			}
			if err == nil {
				r := &messages.AcquireRequest{TtlMs: 1000}
				if err := identity.Own(id, r); err != nil || messages.DefaultLimits().Check(r) != nil {
					t.Fatalf("%q is no owner: %v", id, err)
				}
			}
		}
	})
}
