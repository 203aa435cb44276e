package linear

import (
	"crypto/sha256"
	"strings"

	"github.com/holdfast-io/holdfast/messages"
)

// Whether the leases of an owner have a secret, its name says, so that the model need not: a request in the name of
// another owner without its secret is that of a stranger, of whom the service knows nothing.
const (
	secretMark   = ".s"
	strangerMark = " without its secret"
)

// secretive is an owner whose leases have a secret.
func secretive(owner string) string { return owner + secretMark }

func isSecretive(owner string) bool { return strings.HasSuffix(owner, secretMark) }

// stranger has the name of such an owner on the wire, and a wrong secret.
func stranger(owner string) string { return owner + strangerMark }

// signature is what requests of an owner have on the wire.
type signature struct {
	owner string
	// secret is nil if the leases of the owner have none; hash is that of their secret.
	secret, hash []byte
}

func sign(owner string) signature {
	name, isStranger := strings.CutSuffix(owner, strangerMark)
	if !isSecretive(name) {
		return signature{owner: name}
	}
	secret := sha256.Sum256([]byte(name))
	s := signature{name, secret[:], messages.HashSecret(secret[:])}
	if isStranger {
		wrong := sha256.Sum256([]byte(owner))
		s.secret = wrong[:]
	}
	return s
}
