package holdfast

import (
	"crypto/rand"

	"github.com/holdfast-io/holdfast/messages"
)

// secretBytes is how long the secret of a client is that was given none.
const secretBytes = 32

// secret is what shows that a request about a lease is its owner's. The zero secret is none. It is not modified.
type secret struct{ value, hash []byte }

func newSecret(value []byte) secret { return secret{value, messages.HashSecret(value)} }

// drawSecret returns a secret that is used nowhere else.
func drawSecret() secret {
	value := make([]byte, secretBytes)
	_, _ = rand.Read(value) // it never fails
	return newSecret(value)
}

// protect gives the lease that is asked for the secret. Each sending of a request has it, since each may be a
// repetition.
func (s secret) protect(r *messages.AcquireRequest) { r.SecretHash, r.Secret = s.hash, s.value }
