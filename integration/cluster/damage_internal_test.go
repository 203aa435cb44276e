//go:build linux

package cluster

import (
	"encoding/binary"
	"testing"
)

// What keeps NATS from starting is not damaged; everything else of a message is.
func TestHighSequenceIsLeftAlone(t *testing.T) {
	block := make([]byte, 40+30)
	binary.LittleEndian.PutUint32(block, 40|1<<31) // with headers
	binary.LittleEndian.PutUint32(block[40:], 30)
	for at := range block {
		within := at
		if at >= 40 {
			within -= 40
		}
		if got, want := inHighSequence(block, at), within >= 7 && within < 12; got != want {
			t.Errorf("%d: %v", at, got)
		}
	}
	if inHighSequence(nil, 0) || inHighSequence(make([]byte, 30), 0) {
		t.Error("what is no block has sequence numbers")
	}
}
