package messages

import (
	"crypto/sha256"
	"crypto/subtle"
)

// HashSecret returns what a lease keeps of its secret: the SHA-256.
func HashSecret(secret []byte) []byte {
	sum := sha256.Sum256(secret)
	return sum[:]
}

// Opens reports whether a secret is the one of the hash. An empty hash is opened by every secret, and by none. How long
// the comparison takes reveals nothing of the hash.
func Opens(hash, secret []byte) bool {
	return len(hash) == 0 || len(secret) > 0 && subtle.ConstantTimeCompare(hash, HashSecret(secret)) == 1
}
