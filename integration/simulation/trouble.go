package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
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
		goOn := w.cut(endsOf(nodeName(i)), 0)
		w.clocks[i].pause()
		return func() {
			w.clocks[i].resume()
			goOn()
		}
	}},
	{"a node is cut off", func(w *world, dice *rand.Rand) func() {
		return w.cut(endsOf(nodeName(dice.IntN(w.trial.Nodes))), dice.IntN(3))
	}},
	{"a node cannot store", func(w *world, dice *rand.Rand) func() {
		return w.cut([]string{storageOf(nodeName(dice.IntN(w.trial.Nodes)))}, dice.IntN(3))
	}},
	{"a node is slow to reach", func(w *world, dice *rand.Rand) func() {
		return w.slow(endsOf(nodeName(dice.IntN(w.trial.Nodes))), dice)
	}},
	{"a client is slow to reach", func(w *world, dice *rand.Rand) func() {
		return w.slow([]string{w.anyClient(dice)}, dice)
	}},
	{"an owner panics, and again when it begins anew", func(w *world, dice *rand.Rand) func() {
		return w.plant(dice, "actors.(*term).stored", "actors.newTerm")
	}},
	{"an owner panics, and again when it replays", func(w *world, dice *rand.Rand) func() {
		return w.plant(dice, "actors.(*term).stored", replay)
	}},
	{"a resource panics", func(w *world, dice *rand.Rand) func() {
		return w.plant(dice, "actors.(*resourceActor).decide")
	}},
	{"a client is cut off", func(w *world, dice *rand.Rand) func() {
		return w.cut([]string{w.anyClient(dice)}, dice.IntN(3))
	}},
	{"the wall clock of a node jumps", func(w *world, dice *rand.Rand) func() {
		w.clocks[dice.IntN(w.trial.Nodes)].jump(time.Duration(dice.Int64N(int64(48*time.Hour))) - 24*time.Hour)
		return nil
	}},
	{"the connections of a node end", func(w *world, dice *rand.Rand) func() {
		i := dice.IntN(w.trial.Nodes)
		w.do(func() {
			for _, end := range endsOf(nodeName(i)) {
				w.Network.Reset(end)
			}
		})
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
		return w.rewind(w.anyServer(dice), 0)
	}},
	{"a server comes back with an old copy of its disk", func(w *world, dice *rand.Rand) func() {
		return w.rewind(w.anyServer(dice), dice.Float64())
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

// endsOf are what the network calls the connections of a node.
func endsOf(node string) []string { return []string{node, storageOf(node)} }

// rewind stops a server, which has only a part of its disk when it starts again.
func (w *world) rewind(server string, part float64) (start func()) {
	w.do(func() {
		w.Network.Stop(server)
		w.Network.Rewind(server, part)
	})
	return func() { w.do(func() { w.Network.Start(server) }) }
}

// slow lets everything from and to some ends take longer, as over a distance.
func (w *world) slow(ends []string, dice *rand.Rand) (mend func()) {
	by := time.Duration(dice.Int64N(int64(300 * time.Millisecond)))
	each := func(by time.Duration) {
		w.do(func() {
			for _, end := range ends {
				w.Network.Slow(end, by)
			}
		})
	}
	each(by)
	return func() { each(-by) }
}

// plant lets functions of a node panic.
func (w *world) plant(dice *rand.Rand, functions ...string) (mend func()) {
	c := w.clocks[dice.IntN(w.trial.Nodes)]
	c.plant(functions...)
	return func() { c.plant() }
}

// cut cuts ends off from all servers: in both directions, or one, by way from 0 to 2.
func (w *world) cut(ends []string, way int) (mend func()) {
	each := func(do func(from, to string)) {
		w.do(func() {
			for _, end := range ends {
				for _, s := range w.Servers {
					if way != 1 {
						do(end, s)
					}
					if way != 2 {
						do(s, end)
					}
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
func (w *world) stopAnyhow(i int) { _ = w.stopNode(i) }

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

// lasting are the faults that a deployment gets over while they last, each with what it takes.
var lasting = []struct {
	name  string
	may   func(x Trial) bool
	begin func(w *world) (end func())
}{
	{"nothing", func(Trial) bool { return true }, func(*world) func() { return func() {} }},
	{"a node is dead", func(x Trial) bool { return x.Nodes > 1 }, func(w *world) func() {
		w.KillNode(0)
		return func() { w.keepStarting(0) }
	}},
	{"a node is cut off", func(x Trial) bool { return x.Nodes > 1 }, func(w *world) func() {
		return w.cut(endsOf(nodeName(0)), 0)
	}},
	// A node that has no shard does not show that it can commit (docs/decisions/ownership.md).
	{"a node cannot store", func(x Trial) bool { return x.Nodes > 1 && int(x.Shards) >= x.Nodes }, func(w *world) func() {
		return w.cut([]string{storageOf(nodeName(0))}, 0)
	}},
	{"a server is dead", func(x Trial) bool { return x.Replicas > 2 }, func(w *world) func() {
		w.do(func() { w.Network.Stop(w.Servers[0]) })
		return func() { w.do(func() { w.Network.Start(w.Servers[0]) }) }
	}},
}

// patience is how long a deployment has to get over a fault that lasts: 15 s until an owner without confirmations is
// replaced, which begins to count when all nodes have noticed, and as long again for the next one to open.
const patience = 45 * time.Second

// answering is how long a lock may take that is granted and released while a fault lasts: NATS sends some requests to a
// node that is cut off, and a client repeats each once a second.
const answering = 20 * time.Second

// probe checks that each shard is served while a fault lasts, and after it.
func (w *world) probe() {
	x := lasting[int(w.trial.Seed%uint64(len(lasting)))]
	trial := w.trial
	trial.Shards = w.present()
	if !x.may(trial) {
		x = lasting[0]
	}
	w.outcome.Lasting = x.name
	end := x.begin(w)
	if x.name != lasting[0].name {
		pass(patience)
	}
	w.served(x.name)
	end()
	pass(settling)
	w.served("everything is well")
}

// served checks that each shard grants and releases a lock, to each side. A node that may hold few may have no room for
// it.
func (w *world) served(while string) {
	if w.trial.Capacity.Held > 0 {
		return
	}
	for _, s := range w.trial.sides() {
		w.servedTo(s, while)
	}
}

func (w *world) servedTo(s side, while string) {
	nc, err := w.connect("probe", 1, login(s.user))
	if err != nil {
		w.note(err)
		return
	}
	defer nc.Close()
	opts := []holdfast.Option{holdfast.Timeout(answering)}
	if w.trial.Tuning.MaxSessions > 0 {
		opts = append(opts, holdfast.PerLockRenewal()) // the load may have all sessions
	}
	client, err := s.client(nc, "probe", opts...)
	if err != nil {
		w.note(err)
		return
	}
	shards := w.present()
	for shard := range shards {
		ctx, cancel := context.WithTimeout(w.ctx, answering)
		l, err := client.Acquire(ctx, namesIn(shard, shards, "probe.", 1)[0], holdfast.MaxWait(time.Second))
		if err == nil {
			err = l.Release(ctx)
		}
		cancel()
		if err != nil {
			w.note(fmt.Errorf("shard %d is not served%s while %s: %w", shard, s, while, err))
		}
	}
	ctx, cancel := context.WithTimeout(w.ctx, answering)
	defer cancel()
	if s.identity != "" {
		_, err := client.Acquire(ctx, w.namesIn(0, "probe.", 1)[0], holdfast.Owner("another"))
		if !errors.Is(err, holdfast.ErrInvalid) {
			w.note(errors.Join(fmt.Errorf("another owner is not refused%s while %s", s, while), err))
		}
		w.do(func() { w.records["another owner refused"]++ })
	}
	_ = client.Close(ctx)
}

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
	resharded := w.startResharding()
	slices.SortStableFunc(moments, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	began := time.Now()
	for _, m := range moments {
		pass(time.Until(began.Add(m.at)))
		m.do()
	}
	pass(time.Until(began.Add(w.trial.Length)))
	<-w.changed
	<-resharded
	pass(settling)
}
