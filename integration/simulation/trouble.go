package simulation

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// fault is something that goes wrong for a while.
type fault struct {
	name string
	// begin begins it, and returns what ends it; nil: nothing does. Neither waits for anything.
	begin func(w *world, dice *rand.Rand) (end func())
}

// faults are all kinds.
var faults = []fault{
	{"a node is killed, and comes back", func(w *world, dice *rand.Rand) func() {
		i := dice.IntN(w.trial.Nodes)
		w.change(func() { w.KillNode(i) })
		return func() { w.change(func() { w.keepStarting(i) }) }
	}},
	{"a node stops, and comes back", func(w *world, dice *rand.Rand) func() {
		i := dice.IntN(w.trial.Nodes)
		w.change(func() { w.stopAnyhow(i) })
		return func() { w.change(func() { w.keepStarting(i) }) }
	}},
	{"a node is added, and removed", func(w *world, _ *rand.Rand) func() {
		i := w.trial.Nodes
		w.change(func() { w.keepStarting(i) })
		return func() { w.change(func() { w.stopAnyhow(i) }) }
	}},
	{"a node is paused", func(w *world, dice *rand.Rand) func() {
		i := dice.IntN(w.trial.Nodes)
		goOn := w.cut(nodeName(i), 0)
		w.clocks[i].pause()
		return func() {
			w.clocks[i].resume()
			goOn()
		}
	}},
	{"a node is cut off", func(w *world, dice *rand.Rand) func() {
		return w.cut(nodeName(dice.IntN(w.trial.Nodes)), dice.IntN(3))
	}},
	{"a client is cut off", func(w *world, dice *rand.Rand) func() {
		return w.cut(w.anyClient(dice), dice.IntN(3))
	}},
	{"the wall clock of a node jumps", func(w *world, dice *rand.Rand) func() {
		w.clocks[dice.IntN(w.trial.Nodes)].jump(time.Duration(dice.Int64N(int64(48*time.Hour))) - 24*time.Hour)
		return nil
	}},
	{"the connections of a node end", func(w *world, dice *rand.Rand) func() {
		w.do(func() { w.Network.Reset(nodeName(dice.IntN(w.trial.Nodes))) })
		return nil
	}},
	{"the connections of a client end", func(w *world, dice *rand.Rand) func() {
		w.do(func() { w.Network.Reset(w.anyClient(dice)) })
		return nil
	}},
	{"a server crashes, and comes back", func(w *world, dice *rand.Rand) func() {
		s := w.anyServer(dice)
		w.do(func() { w.Network.Stop(s) })
		return func() { w.do(func() { w.Network.Start(s) }) }
	}},
	{"a server loses its disk", func(w *world, dice *rand.Rand) func() {
		s := w.anyServer(dice)
		w.do(func() {
			w.Network.Stop(s)
			w.Network.Wipe(s)
		})
		return func() { w.do(func() { w.Network.Start(s) }) }
	}},
	{"the servers are parted", func(w *world, dice *rand.Rand) func() {
		servers := slices.Clone(w.Servers)
		dice.Shuffle(len(servers), func(i, j int) { servers[i], servers[j] = servers[j], servers[i] })
		some := servers[:dice.IntN(len(servers))]
		both := dice.IntN(2) == 0
		each := func(do func(from, to string)) {
			w.do(func() {
				for _, a := range some {
					for _, b := range servers[len(some):] {
						do(a, b)
						if both {
							do(b, a)
						}
					}
				}
			})
		}
		each(w.Network.Cut)
		return func() { each(w.Network.Mend) }
	}},
	{"the leader of a bucket steps down", func(w *world, dice *rand.Rand) func() {
		w.do(func() { w.Network.StepDown(fmt.Sprint("KV_HOLDFAST_", dice.IntN(int(w.trial.Shards)))) })
		return nil
	}},
	{"a disk is full", func(w *world, dice *rand.Rand) func() {
		s := w.anyServer(dice)
		w.do(func() { w.Network.Fill(s) })
		return func() { w.do(func() { w.Network.Empty(s) }) }
	}},
}

func nodeName(i int) string { return fmt.Sprint("n", i) }

func (w *world) anyServer(dice *rand.Rand) string { return w.Servers[dice.IntN(len(w.Servers))] }

// anyClient returns a client of the load, or a worker.
func (w *world) anyClient(dice *rand.Rand) string {
	i := dice.IntN(w.trial.Clients + w.trial.Workers)
	if i < w.trial.Workers {
		return fmt.Sprint("w", i)
	}
	return fmt.Sprint("c", i-w.trial.Workers)
}

// cut cuts a process off from all servers: in both directions, or one, by way from 0 to 2.
func (w *world) cut(process string, way int) (mend func()) {
	each := func(do func(from, to string)) {
		w.do(func() {
			for _, s := range w.Servers {
				if way != 1 {
					do(process, s)
				}
				if way != 2 {
					do(s, process)
				}
			}
		})
	}
	each(w.Network.Cut)
	return func() { each(w.Network.Mend) }
}

// do does something to the network.
func (w *world) do(do func()) { w.Network.Bus.Do(do) }

// change does something to a node that takes its time. One node changes after the other.
func (w *world) change(do func()) {
	before := w.changed
	done := make(chan struct{})
	w.changed = done
	go func() {
		<-before
		do()
		close(done)
	}()
}

// stopAnyhow stops a node, which may not be able to store what it has decided.
func (w *world) stopAnyhow(i int) { _ = w.StopNode(w.ctx, i) }

// keepStarting starts a node until it runs, as a supervisor does.
func (w *world) keepStarting(i int) {
	for tries := 0; ; tries++ {
		err := w.StartNode(w.ctx, i)
		if err == nil {
			return
		}
		if tries == maxStarts {
			w.note(fmt.Errorf("node %d does not start: %w", i, err))
			return
		}
		pass(time.Second)
	}
}

const (
	// longest is how long a fault lasts at most: longer than most leases, and than an election.
	longest = 15 * time.Second
	// settling is how long everything has to come to rest.
	settling = 20 * time.Second
	// maxStarts is how often a node is started in vain.
	maxStarts = 10
)

// pass lets virtual time pass.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // nobody waits for virtual time
}

// planned is a fault of a trial.
type planned struct {
	fault
	at, lasts time.Duration
	dice      *rand.Rand
}

// plan draws the faults of a trial. Each has dice of its own, so that the others are the same without it.
func (x Trial) plan() []planned {
	var all []planned
	for i := range x.Faults {
		dice := rand.New(rand.NewPCG(x.Seed, 100+uint64(i)))
		p := planned{
			fault: faults[dice.IntN(len(faults))], at: time.Duration(dice.Int64N(int64(x.Length))),
			lasts: time.Duration(dice.Int64N(int64(longest))), dice: dice,
		}
		if !slices.Contains(x.Without, i) {
			all = append(all, p)
		}
	}
	return all
}

// moment is something that is to be done at a time.
type moment struct {
	at time.Duration
	do func()
}

// trouble lets things go wrong while the load lasts, and then everything heal.
func (w *world) trouble() {
	var moments []moment
	for _, p := range w.trial.plan() {
		var end func()
		moments = append(moments, moment{p.at, func() {
			w.outcome.Faults = append(w.outcome.Faults, Happened{p.name, p.at})
			end = p.begin(w, p.dice)
		}}, moment{p.at + p.lasts, func() {
			if end != nil {
				end()
			}
		}})
	}
	slices.SortStableFunc(moments, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	began := time.Now()
	for _, m := range moments {
		pass(time.Until(began.Add(m.at)))
		m.do()
	}
	pass(time.Until(began.Add(w.trial.Length)))
	<-w.changed
	pass(settling)
}
