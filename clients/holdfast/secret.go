package holdfast

import (
	"bytes"
	"crypto/rand"
	"strconv"

	"github.com/holdfast-io/holdfast/messages"
)

// secretBytes is how long the secret of a client is that was given none.
const secretBytes = 32

// Secret is the secret of the client's leases, 16 to 64 bytes that cannot be guessed. Who does not have it cannot
// release, extend or change such a lease, also with its owner's name and token; [Client.Break] needs no secret.
//
// By default every client draws one of its own. Processes that share locks, under one [Owner] or by [Reentrant], need to
// share a secret, too. A deployment without the feature "secrets" has leases without them.
func Secret(secret []byte) Option {
	secret = bytes.Clone(secret)
	return func(c *config) error {
		if n := len(secret); n < messages.MinSecretBytes || n > messages.MaxSecretBytes {
			return rule("secret", "16 to 64 bytes", strconv.Itoa(n)+" bytes")
		}
		c.secret = newSecret(secret)
		return nil
	}
}

// secret is what shows that a request about a lease is its owner's. The zero secret is none. It is not modified.
type secret struct{ value, hash []byte }

func newSecret(value []byte) secret { return secret{value, messages.HashSecret(value)} }

// drawSecret returns a secret that is used nowhere else.
func drawSecret() secret {
	value := make([]byte, secretBytes)
	_, _ = rand.Read(value) // it never fails
	return newSecret(value)
}

// protect gives the lease that is asked for the secret. Each sending of a request has it, since each may be a repetition.
func (s secret) protect(r *messages.AcquireRequest) { r.SecretHash, r.Secret = s.hash, s.value }

// secret returns the secret of new leases: none as long as the deployment is not known, or where not all nodes are of
// one version, as an earlier one refuses a field that it does not know.
func (c *Client) secret() secret {
	if !c.everyNodeOffers(messages.FeatureSecrets) {
		return secret{}
	}
	return c.cfg.secret
}
