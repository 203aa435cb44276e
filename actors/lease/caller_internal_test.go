package lease

import (
	"bytes"
	"testing"

	"github.com/holdfast-io/holdfast/messages"
)

func TestOpens(t *testing.T) {
	secret, other := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	hash := messages.HashSecret(secret)
	if len(hash) != int(messages.SecretHashBytes) {
		t.Fatalf("the hash has %d bytes", len(hash))
	}
	for _, test := range []struct {
		name         string
		hash, secret []byte
		want         bool
	}{
		{"its secret", hash, secret, true},
		{"another secret", hash, other, false},
		{"a part of the secret", hash, secret[:16], false},
		{"no secret", hash, nil, false},
		{"the hash in the place of the secret", hash, hash, false},
		{"the hash of nothing, and no secret", messages.HashSecret(nil), nil, false},
		{"no hash and no secret", nil, nil, true},
		{"no hash, with a secret", nil, secret, true},
	} {
		if got := newCaller("", test.secret).opens(test.hash); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
}
