package serve

import (
	"io"
	"testing"

	"github.com/spf13/cobra"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
)

// configOf returns the configuration of the command with these flags.
func configOf(t *testing.T, flags ...string) *server.Config {
	t.Helper()
	s, cmd := newServe("", nil), &cobra.Command{}
	s.addFlags(cmd)
	cmd.SetErr(io.Discard)
	if err := cmd.ParseFlags(flags); err != nil {
		t.Fatal(err)
	}
	cfg, err := s.load(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// What an operator sets reaches what it is for, and nothing else.
func TestLimitsReachTheNode(t *testing.T) {
	if cfg := configOf(t); cfg.Tuning != actors.DefaultTuning() {
		t.Errorf("without flags: %+v", cfg.Tuning)
	}
	cfg := configOf(t, "--max-held=1", "--max-waiting=2", "--max-queue=3", "--max-rate=4", "--history=5",
		"--max-remembered=9")
	cfg.Capacity.Pending, cfg.Capacity.Crowded = 0, nil // they are of the control group
	if want := (node.Capacity{Held: 1, Waiting: 2, Rate: 4}); cfg.Capacity != want {
		t.Errorf("capacity %+v, want %+v", cfg.Capacity, want)
	}
	want := actors.DefaultTuning()
	want.MaxWaiting, want.History = 3, 5
	if cfg.Tuning != want || cfg.Remembered != 9 {
		t.Errorf("tuning %+v, remembered %d, want %+v and 9", cfg.Tuning, cfg.Remembered, want)
	}
}
