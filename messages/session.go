package messages

import (
	"crypto/sha256"
	"encoding/hex"
)

// sessionHashBytes is the length of the hash by which the service knows a session.
const sessionHashBytes = 16

// labelBytes is how many bytes of a session's hash its label shows.
const labelBytes = 4

// SessionHash returns the hash by which the service knows a session. It keeps no ids, because an id is a capability.
// The same id in two tenants, as [Qualify] returns it, has two hashes with the same label.
func SessionHash(id string) []byte {
	sum := sha256.Sum256([]byte(id))
	if _, own := Unqualify(id); own != id {
		label := sha256.Sum256([]byte(own))
		copy(sum[:], label[:labelBytes])
	}
	return sum[:sessionHashBytes]
}

// SessionLabel returns what answers and events show of a session, by its hash: the first 8 hexadecimal digits. The
// label of no hash is empty.
func SessionLabel(hash []byte) string {
	return hex.EncodeToString(hash[:min(len(hash), labelBytes)])
}

// DecodeSession returns the id of a session from a subject, where it is encoded as a resource is. It returns an
// [InvalidError] unless the id is [MinSessionBytes] to [MaxSessionBytes] long.
func DecodeSession(key string) (string, error) {
	id, err := DecodeKey(key)
	if err != nil {
		return "", err
	}
	return id, CheckText("session", id, MinSessionBytes, MaxSessionBytes)
}
