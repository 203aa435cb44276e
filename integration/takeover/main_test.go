package takeover_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

// TestMain lets the test binary play the NATS servers that tests start and kill.
func TestMain(m *testing.M) {
	if config := os.Getenv(serverEnv); config != "" {
		if err := playServer(config); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// patience bounds what must happen in the end. Nothing is measured by it.
const patience = time.Minute

// pause waits, or returns early when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// dice are one goroutine's share of the seed.
type dice struct{ *rand.Rand }

func newDice(seed, stream uint64) dice { return dice{rand.New(rand.NewPCG(seed, stream))} }

// chance is true in that percentage of cases.
func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

func (d dice) between(least, most time.Duration) time.Duration {
	return least + time.Duration(d.Int64N(int64(most-least)))
}
