package holdfast

import (
	"testing"
	"time"
)

// While a dead node's shard is taken over, which takes up to three seconds, nobody who asks sleeps for
// longer than one; and whoever waits on loads the service ever less.
func TestPausesBetweenTries(t *testing.T) {
	sent := time.Duration(0)
	for n, want := range []time.Duration{500, 1000, 1000, 1000, 1000, 2000, 4000, 5000, 5000} {
		got := resendAfter(n)
		if got != want*time.Millisecond {
			t.Errorf("try %d waits %v, want %v", n, got, want*time.Millisecond)
		}
		if sent < 4*time.Second && got > time.Second {
			t.Errorf("try %d, sent after %v, waits %v: longer than a takeover leaves", n, sent, got)
		}
		sent += got
	}
	if got := resendAfter(1 << 20); got != mostResend {
		t.Errorf("a late try waits %v, want %v", got, mostResend)
	}
}
