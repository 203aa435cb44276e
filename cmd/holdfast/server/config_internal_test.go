package server

import "testing"

// Every shard gets its share of what the deployment remembers, rounded up.
func TestTuningOfAShard(t *testing.T) {
	var cfg Config
	cfg.Tuning.MaxRemembered = 7
	if got := cfg.tuning(4).MaxRemembered; got != 7 {
		t.Errorf("without a total: %d, want 7", got)
	}
	cfg.Remembered = 9
	if got := cfg.tuning(4).MaxRemembered; got != 3 {
		t.Errorf("9 in 4 shards: %d each, want 3", got)
	}
}
