package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/reshard"
	"github.com/holdfast-io/holdfast/messages"
)

// resharding is a change of the number of shards, at a time since the begin of the trial.
type resharding struct {
	at     time.Duration
	shards uint32
	// dies is the step behind which the coordinator dies, pauses the one behind which it is paused for a while; -1: none.
	dies, pauses reshard.Step
	pause        time.Duration
}

// reshardings draws the changes of a trial. The dice are their own, so that everything else is the same without them.
func (x Trial) reshardings() (all []resharding) {
	dice := rand.New(rand.NewPCG(x.Seed, 6))
	if dice.IntN(3) > 0 {
		return nil
	}
	for range 1 + dice.IntN(3) {
		r := resharding{
			at: time.Duration(dice.Int64N(int64(x.Length))), shards: uint32(1 + dice.IntN(4)), dies: -1, pauses: -1,
		}
		steps := reshard.Steps()
		switch step := steps[dice.IntN(len(steps))]; dice.IntN(3) {
		case 0:
			r.dies = step
		case 1:
			r.pauses, r.pause = step, time.Duration(dice.Int64N(int64(longest)))
		}
		all = append(all, r)
	}
	return all
}

// startResharding makes the changes of the trial. over is closed when none is under way any more.
func (w *world) startResharding() (over <-chan struct{}) {
	ended := make(chan struct{})
	all := w.trial.reshardings()
	left := len(all)
	if left == 0 {
		close(ended)
	}
	for i, r := range all {
		go func() {
			pass(r.at)
			result := w.reshard(fmt.Sprint("reshard", i), r)
			w.do(func() {
				w.records["reshard "+result]++
				if left--; left == 0 {
					close(ended)
				}
			})
		}()
	}
	return ended
}

// reshard makes a change, and returns what has become of it.
func (w *world) reshard(process string, r resharding) string {
	nc, err := w.connect(process, 0, w.login())
	if err != nil {
		return "without a connection"
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	_, err = reshard.Run(ctx, reshard.Config{
		Conn: nc, Prefix: messages.DefaultPrefix, Shards: r.shards, Log: w.Log.With("at", process),
		Step: func(s reshard.Step) error {
			switch s {
			case r.dies:
				nc.Close()
				return reshard.ErrKilled
			case r.pauses:
				pass(r.pause)
			}
			return nil
		},
	})
	switch {
	case err == nil:
		return "done"
	case errors.Is(err, reshard.ErrKilled):
		return "killed"
	case errors.Is(err, reshard.ErrRefused):
		return "refused"
	case w.trial.isCalm() && r.pauses < 0:
		w.note(fmt.Errorf("the number of shards does not change to %d: %w", r.shards, err))
	}
	w.Log.Warn("the number of shards does not change", "at", process, "err", err)
	return "given up"
}

// isCalm reports whether nothing goes wrong in the trial.
func (x Trial) isCalm() bool { return len(x.plan()) == 0 && len(x.reshardings()) == 1 }
