package messages_test

import (
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// A takeover takes up to ten seconds if the NATS server of the node died too. Until then a client sends
// again at least every second; afterwards the pauses grow.
func TestResendAfter(t *testing.T) {
	sent, before := time.Duration(0), time.Duration(0)
	for n := range 20 {
		pause := messages.ResendAfter(n)
		if sent < 9*time.Second && pause > time.Second {
			t.Errorf("try %d, sent after %v, waits %v: longer than a takeover leaves", n, sent, pause)
		}
		if pause < before || pause < messages.FirstResend || pause > messages.MaxResend {
			t.Errorf("try %d waits %v, the one before waited %v", n, pause, before)
		}
		sent, before = sent+pause, pause
	}
	if got := messages.ResendAfter(1 << 20); got != messages.MaxResend {
		t.Errorf("a late try waits %v, want %v", got, messages.MaxResend)
	}
}
