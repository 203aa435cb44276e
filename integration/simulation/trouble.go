package simulation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// fault is something that goes wrong for a while.
type fault struct {
	name string
	// do begins it, and returns what ends it.
	do func(ctx context.Context, w *world) (end func())
}

// faults are all kinds.
var faults = []fault{
	{"a node is killed, and comes back", func(ctx context.Context, w *world) func() {
		i := w.dice.IntN(w.trial.Nodes)
		w.KillNode(i)
		return func() { w.startAgain(ctx, i) }
	}},
	{"a node stops, and comes back", func(ctx context.Context, w *world) func() {
		i := w.dice.IntN(w.trial.Nodes)
		w.note(w.StopNode(ctx, i))
		return func() { w.startAgain(ctx, i) }
	}},
	{"a node is cut off", func(_ context.Context, w *world) func() {
		name := fmt.Sprint("n", w.dice.IntN(w.trial.Nodes))
		way := w.dice.IntN(3)
		w.do(func() {
			for _, s := range w.Servers {
				if way != 1 {
					w.Network.Cut(name, s)
				}
				if way != 2 {
					w.Network.Cut(s, name)
				}
			}
		})
		return w.heal
	}},
	{"a client is cut off", func(_ context.Context, w *world) func() {
		name := fmt.Sprint("c", w.dice.IntN(w.trial.Clients))
		way := w.dice.IntN(3)
		w.do(func() {
			for _, s := range w.Servers {
				if way != 1 {
					w.Network.Cut(name, s)
				}
				if way != 2 {
					w.Network.Cut(s, name)
				}
			}
		})
		return w.heal
	}},
	{"the wall clock of a node jumps", func(_ context.Context, w *world) func() {
		w.clocks[w.dice.IntN(w.trial.Nodes)].jump(time.Duration(w.dice.Int64N(int64(48*time.Hour))) - 24*time.Hour)
		return nil
	}},
	{"the connections of a node end", func(_ context.Context, w *world) func() {
		w.do(func() { w.Network.Reset(fmt.Sprint("n", w.dice.IntN(w.trial.Nodes))) })
		return nil
	}},
	{"the connections of a client end", func(_ context.Context, w *world) func() {
		w.do(func() { w.Network.Reset(fmt.Sprint("c", w.dice.IntN(w.trial.Clients))) })
		return nil
	}},
	{"a server crashes, and comes back", func(_ context.Context, w *world) func() {
		s := w.Servers[w.dice.IntN(len(w.Servers))]
		w.do(func() { w.Network.Stop(s) })
		return func() { w.do(func() { w.Network.Start(s) }) }
	}},
	{"the servers are parted", func(_ context.Context, w *world) func() {
		servers := slices.Clone(w.Servers)
		w.dice.Shuffle(len(servers), func(i, j int) { servers[i], servers[j] = servers[j], servers[i] })
		some := servers[:w.dice.IntN(len(servers))]
		both := w.dice.IntN(2) == 0
		w.do(func() {
			for _, a := range some {
				for _, b := range servers[len(some):] {
					w.Network.Cut(a, b)
					if both {
						w.Network.Cut(b, a)
					}
				}
			}
		})
		return w.heal
	}},
	{"the leader of a bucket steps down", func(_ context.Context, w *world) func() {
		w.do(func() { w.Network.StepDown(fmt.Sprint("KV_HOLDFAST_", w.dice.IntN(int(w.trial.Shards)))) })
		return nil
	}},
	{"a disk is full", func(_ context.Context, w *world) func() {
		s := w.Servers[w.dice.IntN(len(w.Servers))]
		w.do(func() { w.Network.Fill(s, true) })
		return func() { w.do(func() { w.Network.Fill(s, false) }) }
	}},
}

// startAgain starts a node that was stopped.
func (w *world) startAgain(ctx context.Context, i int) { w.note(w.StartNode(ctx, i)) }

// note notes what kept a node from what it should do.
func (w *world) note(err error) { w.err = errors.Join(w.err, err) }

func (w *world) do(do func()) { w.Network.Bus.Do(do) }

func (w *world) heal() { w.do(w.Network.Heal) }

const (
	// longest is how long a fault lasts at most: longer than most leases, and than an election.
	longest = 15 * time.Second
	// settling is how long everything has to come to rest.
	settling = 20 * time.Second
)

// pass lets virtual time pass.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // nobody waits for virtual time
}

// trouble lets things go wrong while the load lasts, and then everything heal.
func (w *world) trouble(ctx context.Context) {
	end := w.began.Add(w.trial.Length)
	for range w.trial.Faults {
		pass(time.Duration(w.dice.Int64N(int64(2 * w.trial.Length / time.Duration(w.trial.Faults+1)))))
		f := faults[w.dice.IntN(len(faults))]
		w.outcome.Faults = append(w.outcome.Faults, Happened{f.name, time.Since(w.began)})
		if over := f.do(ctx, w); over != nil {
			pass(time.Duration(w.dice.Int64N(int64(longest))))
			over()
		}
	}
	pass(time.Until(end))
	w.heal()
	pass(settling)
}
