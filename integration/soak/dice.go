package soak

import (
	"math/rand/v2"
	"time"
)

// dice are one goroutine's share of the seed.
type dice struct{ *rand.Rand }

func newDice(seed, stream uint64) *dice { return &dice{rand.New(rand.NewPCG(seed, stream))} }

// chance is true in that percentage of cases.
func (d *dice) chance(percent int) bool { return d.IntN(100) < percent }

func (d *dice) between(least, most time.Duration) time.Duration {
	return least + time.Duration(d.Int64N(int64(max(most-least, 1))))
}
