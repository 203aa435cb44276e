package commands

import (
	"log/slog"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node"
)

// What an operator sets reaches what it is for, and nothing else.
func TestLimitsReachTheNode(t *testing.T) {
	s := &serve{identity: identityFlag()}
	s.setBounds()
	if got := s.tuning(); got != actors.DefaultTuning() {
		t.Errorf("without flags: %+v", got)
	}
	for text, value := range map[string]pflag.Value{
		"1": &s.maxHeld, "2": &s.maxWaiting, "3": &s.maxQueue, "4": &s.maxRate, "5": &s.history, "6s": &s.remember, "7s": &s.idleAfter, "9": &s.maxRemembered,
	} {
		if err := value.Set(text); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := s.config(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if want := (node.Capacity{Held: 1, Waiting: 2, Rate: 4}); cfg.Capacity != want {
		t.Errorf("capacity %+v, want %+v", cfg.Capacity, want)
	}
	want := actors.DefaultTuning()
	want.MaxWaiting, want.History, want.Remember, want.IdleAfter = 3, 5, 6*time.Second, 7*time.Second
	if cfg.Tuning != want || cfg.Remembered != 9 {
		t.Errorf("tuning %+v, remembered %d, want %+v and 9", cfg.Tuning, cfg.Remembered, want)
	}
}
