// Package chance draws the pauses that keep clients from acting in step. It takes its random numbers from crypto/rand,
// which a test can seed.
package chance

import (
	"crypto/rand"
	"encoding/binary"
	"time"
)

// Below returns a duration from 0 to below d, which is positive.
func Below(d time.Duration) time.Duration {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return time.Duration(binary.LittleEndian.Uint64(b[:]) % uint64(d))
}
