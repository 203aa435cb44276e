package simulation

import (
	"math/rand/v2"
	"time"
)

// tune draws small limits for nodes, so that a trial reaches what takes a real deployment days. Each is drawn by
// itself, and mostly stays as it is.
func (x *Trial) tune(dice *rand.Rand) {
	oneIn := func(n int, do func()) {
		if dice.IntN(n) == 0 {
			do()
		}
	}
	t, c := &x.Tuning, &x.Capacity
	oneIn(3, func() { t.CompactCommits, t.History = 20+dice.IntN(200), 1+dice.IntN(100) })
	oneIn(3, func() { t.CommitDecisions = 1 + dice.IntN(3) })
	oneIn(3, func() { t.IdleAfter = time.Duration(50+dice.IntN(1000)) * time.Millisecond })
	oneIn(3, func() { t.RecordAfter = time.Duration(1+dice.IntN(3)) * time.Second })
	oneIn(3, func() { t.MaxWaiting = 1 + dice.IntN(4) })
	oneIn(6, func() { c.Waiting = int64(1 + dice.IntN(6)) })
	oneIn(8, func() { c.Held = int64(3 + dice.IntN(3)) })
	oneIn(8, func() { x.forget(dice) })
	oneIn(6, func() { t.MaxSessions = 1 + dice.IntN(4) })
}

// forget makes a trial in which nodes forget names: it is longer, and its clients use more names, each of them rarely.
// They repeat requests for up to a minute, as the contract says.
func (x *Trial) forget(dice *rand.Rand) {
	x.Tuning.Remember = time.Minute + time.Duration(dice.IntN(10))*time.Second
	x.Tuning.CompactCommits, x.Tuning.History = 10+dice.IntN(20), 1+dice.IntN(100)
	x.Length += 80 * time.Second
	x.Names, x.Ephemeral, x.Pause = 60, 6*dice.IntN(2), 8*time.Second
}
