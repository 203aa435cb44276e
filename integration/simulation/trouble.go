package simulation

import (
	"context"
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
		i := w.dice.IntN(w.Nodes)
		w.KillNode(i)
		return func() {
			if err := w.StartNode(ctx, i); err != nil {
				panic(fmt.Sprint("start node ", i, ": ", err))
			}
		}
	}},
	{"a node stops, and comes back", func(ctx context.Context, w *world) func() {
		i := w.dice.IntN(w.Nodes)
		if w.Trial.Nodes == 1 {
			return nil
		}
		_ = w.StopNode(ctx, i)
		return func() {
			if err := w.StartNode(ctx, i); err != nil {
				panic(fmt.Sprint("start node ", i, ": ", err))
			}
		}
	}},
	{"a node is cut off", func(_ context.Context, w *world) func() {
		name := fmt.Sprint("n", w.dice.IntN(w.Nodes))
		way := w.dice.IntN(3)
		w.do(func() {
			for _, s := range w.Deployment.Servers {
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
		name := fmt.Sprint("c", w.dice.IntN(w.Clients))
		way := w.dice.IntN(3)
		w.do(func() {
			for _, s := range w.Deployment.Servers {
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
		w.clocks[w.dice.IntN(w.Nodes)].jump(time.Duration(w.dice.Int64N(int64(48*time.Hour))) - 24*time.Hour)
		return nil
	}},
	{"the connections of a node end", func(_ context.Context, w *world) func() {
		w.do(func() { w.Network.Reset(fmt.Sprint("n", w.dice.IntN(w.Nodes))) })
		return nil
	}},
	{"the connections of a client end", func(_ context.Context, w *world) func() {
		w.do(func() { w.Network.Reset(fmt.Sprint("c", w.dice.IntN(w.Clients))) })
		return nil
	}},
	{"a server crashes, and comes back", func(_ context.Context, w *world) func() {
		s := w.Deployment.Servers[w.dice.IntN(len(w.Deployment.Servers))]
		w.do(func() { w.Network.Stop(s) })
		return func() { w.do(func() { w.Network.Start(s) }) }
	}},
	{"the servers are parted", func(_ context.Context, w *world) func() {
		servers := slices.Clone(w.Deployment.Servers)
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
		w.do(func() { w.Network.StepDown(fmt.Sprint("KV_HOLDFAST_", w.dice.IntN(int(w.Trial.Shards)))) })
		return nil
	}},
	{"a disk is full", func(_ context.Context, w *world) func() {
		s := w.Deployment.Servers[w.dice.IntN(len(w.Deployment.Servers))]
		w.do(func() { w.Network.Fill(s, true) })
		return func() { w.do(func() { w.Network.Fill(s, false) }) }
	}},
}

func (w *world) do(do func()) { w.Network.Bus.Do(do) }

func (w *world) heal() { w.do(w.Network.Heal) }

// trouble lets things go wrong while the load lasts, and then everything heal.
func (w *world) trouble(ctx context.Context) {
	end := w.began.Add(w.Length)
	for range w.Faults {
		time.Sleep(time.Duration(w.dice.Int64N(int64(2 * w.Length / time.Duration(w.Faults+1)))))
		f := faults[w.dice.IntN(len(faults))]
		w.outcome.Faults = append(w.outcome.Faults, fmt.Sprint(time.Since(w.began), ": ", f.name))
		if over := f.do(ctx, w); over != nil {
			time.Sleep(time.Duration(w.dice.Int64N(int64(15 * time.Second))))
			over()
		}
	}
	time.Sleep(time.Until(end))
	w.heal()
	time.Sleep(20 * time.Second)
}
