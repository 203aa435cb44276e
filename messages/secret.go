package messages

import "crypto/sha256"

// HashSecret returns what a lease keeps of its secret: the SHA-256.
func HashSecret(secret []byte) []byte {
	sum := sha256.Sum256(secret)
	return sum[:]
}
