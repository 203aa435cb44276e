package journal

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// RequestSize is how many bytes [EndedRequest.Request] has.
const RequestSize = 16

// LeaseKey returns the key of a lease, or of its delay if it was lost, in [HandOver.LeftMs]. It is part of the stored
// format.
func LeaseKey(resource string, token uint64) uint64 {
	var buffer [256]byte // so that most names allocate nothing
	return xxhash.Sum64(append(binary.BigEndian.AppendUint64(buffer[:0], token), resource...))
}

// SessionKey returns the key of a session in [HandOver.LeftMs], of the hash of its id.
func SessionKey(hash [RequestSize]byte) uint64 { return binary.BigEndian.Uint64(hash[:]) }

// Check returns [ErrCorrupt] unless each request is one. Nil is well-formed.
func (x *HandOver) Check() error {
	for _, e := range x.GetEnded() {
		if len(e.GetRequest()) != RequestSize || uint64(e.GetBehind()) > e.GetToken() {
			return fmt.Errorf("%w: it hands over an ended request of %d bytes with token %d and a fence %d behind",
				ErrCorrupt, len(e.GetRequest()), e.GetToken(), e.GetBehind())
		}
	}
	for _, s := range x.GetSharers() {
		for _, r := range s.GetRequests() {
			if len(r) != RequestSize {
				return fmt.Errorf("%w: it hands over a request of %d bytes", ErrCorrupt, len(r))
			}
		}
	}
	return nil
}
