package stand

import (
	"testing"
	"time"
)

// Eventually looks again and again until it is so, and fails the test if it is not within two minutes.
func Eventually(tb testing.TB, what string, is func() bool) {
	tb.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(2 * patience); !is(); <-tick.C {
		if time.Now().After(end) {
			tb.Fatalf("timed out waiting until %s", what)
		}
	}
}
