package identity

import (
	"strconv"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// The cache is bounded: when it is full, it forgets the users that it has known longest, and a user that it has
// forgotten is verified again.
func TestUsersAreBounded(t *testing.T) {
	account, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	issuer, err := account.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	u := newUsers()
	for round := range 3 {
		for i := len(u.known); i < maxUsers/2; i++ {
			u.known[login{strconv.Itoa(round) + "." + strconv.Itoa(i), issuer}] = "another"
		}
		alice, token := newUser(t, account)
		if got, err := u.subject(token, issuer); got != alice || err != nil {
			t.Fatalf("round %d: got %q, %v, want %q", round, got, err, alice)
		}
		if n := len(u.known) + len(u.older); n > maxUsers/2+1 {
			t.Fatalf("round %d: %d users are kept", round, n)
		}
	}
	if _, ok := u.older[login{"0.0", issuer}]; ok {
		t.Error("the oldest users are kept")
	}
}

// newUser returns a user with a JWT.
func newUser(t *testing.T, account nkeys.KeyPair) (public, token string) {
	t.Helper()
	user, err := nkeys.CreateUser()
	if err == nil {
		public, err = user.PublicKey()
	}
	if err == nil {
		token, err = jwt.NewUserClaims(public).Encode(account)
	}
	if err != nil {
		t.Fatal(err)
	}
	return public, token
}
