package simulation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/actors/node/identity"
	"github.com/holdfast-io/holdfast/cmd/holdfast/reshard"
	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/integration/simulation/simnats"
	"github.com/holdfast-io/holdfast/messages"
)

// Trial is one deployment under load and faults, all of it from a seed.
type Trial struct {
	Seed uint64
	// Nodes, Servers and Clients are how many there are, Workers how many clients of the project work under locks;
	// Replicas are those of each bucket.
	Nodes, Servers, Clients, Workers, Replicas int
	Shards                                     uint32
	// Names is how many resources the clients use, of which the last ones are Ephemeral, and Pause the longest that one
	// rests between two operations.
	Names, Ephemeral int
	Pause            time.Duration
	// Length is how long the load lasts, before everything heals.
	Length time.Duration
	// Faults is how many there are, but for those Without, by their numbers from 0.
	Faults  int
	Without []int
	// Log receives what the nodes log, and Trace every delivery to a server; nil: nobody does.
	Log, Trace io.Writer
	// Tuning and Capacity are those of each node.
	Tuning   actors.Tuning
	Capacity node.Capacity
	// Tenants are served beside none, nil if there are none: the clients are divided among all, and use the same names.
	// Identity says whose owners are verified. Operators: those of the last tenant are in the account of the nodes.
	Tenants   map[string]node.TenantLimits
	Identity  identity.Mode
	Operators bool
}

// NewTrial returns a trial whose size is drawn from its seed.
func NewTrial(seed uint64) Trial {
	dice := rand.New(rand.NewPCG(seed, 1))
	t := Trial{
		Seed: seed, Nodes: 2 + dice.IntN(3), Servers: []int{1, 3, 3, 3, 5}[dice.IntN(5)], Clients: 4 + dice.IntN(12),
		Workers: dice.IntN(6),
		Names:   6, Ephemeral: 1, Pause: 2 * time.Second,
		Shards: uint32(1 + dice.IntN(4)), Length: time.Duration(20+dice.IntN(60)) * time.Second,
		Faults: dice.IntN(12),
	}
	t.Replicas = min(t.Servers, []int{1, 3, 3, 5}[dice.IntN(4)])
	t.tune(dice)
	t.serveTenants()
	return t
}

// Outcome is what a trial has shown.
type Outcome struct {
	History *linear.History
	Journal *linear.Journal
	// Trace distinguishes runs: two of the same seed have the same, as far as the scheduler lets them.
	Trace string
	// Faults are those that there were, in their order.
	Faults []Happened
	// Lasting is the one that there was when the deployment was asked whether it serves all shards.
	Lasting string
	// Virtual is how long the trial took for those in it.
	Virtual time.Duration
	// Operations is how many were judged as histories.
	Operations int
	// Deliveries is how many there were.
	Deliveries int
	// Tally counts the operations of each kind by their outcomes, and the records of the journals that are no commits
	// like others.
	Tally map[string]int
}

// standstill is how long a trial may take in real time: tens of times what it takes with the race detector. Longer
// takes one in which virtual time stands still, because somebody works on without waiting for anything.
const standstill = 10 * time.Minute

// Run runs a trial in a bubble of its own, and returns what it has shown. The error is what kept it from its end. No
// other goroutine may draw random numbers meanwhile. It panics if virtual time stands still.
func (x Trial) Run(t *testing.T) (o Outcome, err error) {
	t.Helper()
	watchdog := time.AfterFunc(standstill, func() {
		debug.SetTraceback("all")
		panic(fmt.Sprintf("seed %d: virtual time stands still", x.Seed))
	})
	defer watchdog.Stop()
	cryptotest.SetGlobalRandom(t, x.Seed)
	runtime.GC() // nats.go pools timers, and a timer belongs to its bubble
	runtime.GC()
	synctest.Test(t, func(*testing.T) {
		w := x.world(&o)
		defer pass(2 * time.Second) // Proto.Actor counts dead letters for a second, on goroutines of its own
		defer w.Network.Close()
		err = w.run()
	})
	return o, err
}

// Happened is a fault, and when it began, since the begin of the trial.
type Happened struct {
	Name string
	At   time.Duration
}

// world is a trial under way.
type world struct {
	*Deployment
	trial   Trial
	outcome *Outcome
	began   time.Time
	trace   hash.Hash
	dice    *rand.Rand
	clocks  []*clock
	ctx     context.Context
	// changed is closed when the last change of a node is made.
	changed chan struct{}
	// err is what was wrong, beside what clients received.
	mu  sync.Mutex
	err error
	// lines are the deliveries of the last instant.
	instant time.Time
	lines   []string
	// records counts those of the journals by what they are, on the goroutine of the bus.
	records map[string]int
	issued  tokens
}

func (x Trial) world(o *Outcome) *world {
	w := &world{
		trial: x, outcome: o, began: time.Now(), trace: sha256.New(), dice: rand.New(rand.NewPCG(x.Seed, 2)),
		Deployment: &Deployment{
			Shards: x.Shards, Replicas: x.Replicas, Log: slog.New(slog.DiscardHandler),
			Tuning: x.Tuning, Capacity: x.Capacity, Tenants: x.Tenants, Identity: x.Identity,
		},
		records: make(map[string]int), issued: tokens{highest: make(map[string]messages.Token)},
	}
	o.Journal = new(linear.Journal)
	if x.Log != nil {
		w.Log = slog.New(slog.NewTextHandler(x.Log, nil))
	}
	for i := range x.Servers {
		w.Servers = append(w.Servers, fmt.Sprint("s", i))
	}
	for range x.Nodes + 1 { // one more may be added
		w.clocks = append(w.clocks, newClock(w.dice))
	}
	w.Clock = func(i int) actors.Clock { return w.clocks[i] }
	w.Replaying = func(i int) { w.clocks[i].check(replay) }
	w.Network = simnats.NewNetwork(simnats.NewBus(x.Seed), w.Servers...)
	w.Network.Bus.Trace, w.Network.Stored = w.traced, w.stored
	x.configure(w.Network)
	w.Network.Delivered = w.delivered
	return w
}

// traced notes a delivery. What comes at the same instant is sorted: within a process Go's scheduler decides who writes
// first.
func (w *world) traced(at time.Time, what string) {
	w.outcome.Deliveries++
	if !at.Equal(w.instant) {
		w.writeTrace()
		w.instant = at
	}
	w.lines = append(w.lines, what)
}

func (w *world) writeTrace() {
	slices.Sort(w.lines)
	for _, what := range w.lines {
		line := w.instant.Sub(w.began).String() + " " + what + "\n"
		_, _ = io.WriteString(w.trace, line)
		if w.trial.Trace != nil {
			_, _ = io.WriteString(w.trial.Trace, line)
		}
	}
	w.lines = w.lines[:0]
}

// forever is longer than a trial may take.
const forever = 24 * time.Hour

func (w *world) run() error {
	ctx, cancel := context.WithTimeout(context.Background(), forever)
	defer cancel()
	w.ctx, w.changed = ctx, make(chan struct{})
	close(w.changed)
	for i := range w.trial.Nodes {
		if err := w.StartNode(ctx, i); err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
	}
	load, err := w.startLoad()
	defer load.disconnect()
	if err != nil {
		return err
	}
	watchers, err := w.startWatchers()
	if err != nil {
		return err
	}
	defer watchers.close()
	workers, backups := w.startWorkers(), w.copying()
	w.trouble()
	w.probe()
	for _, g := range workers {
		g.stop()
	}
	w.outcome.History, w.outcome.Tally = load.stop()
	for _, g := range workers {
		g.report(w.outcome.Tally)
	}
	w.crowd()
	c, isCopied := <-backups
	if isCopied { // their names may have been forgotten, and have higher tokens now
		if err := w.underRareLocks(func() error { return nil }); err != nil {
			w.note(fmt.Errorf("rare locks: %w", err))
		}
	}
	for _, c := range w.clocks {
		for _, function := range c.panicked {
			w.outcome.Tally["panic of "+function]++
		}
	}
	for i := range w.trial.Nodes {
		if err := w.stopNode(i); err != nil {
			w.note(fmt.Errorf("stop node %d: %w", i, err))
		}
	}
	w.note(watchers.stop())
	if isCopied {
		if err := w.restore(c); err != nil {
			w.note(fmt.Errorf("restored: %w", err))
		}
	}
	w.do(w.writeTrace)
	maps.Copy(w.outcome.Tally, w.records)
	w.outcome.Journal.Retime(func(name string, shown, before int64) int64 {
		if name == reshard.Writer {
			return shown
		}
		var node int
		if _, err := fmt.Sscanf(name, "n%d", &node); err != nil {
			panic(err)
		}
		return w.clocks[node].truth(shown, before)
	})
	w.outcome.Virtual = time.Since(w.began)
	w.outcome.Trace = hex.EncodeToString(w.trace.Sum(nil)[:8])
	return w.err
}

// ending is how long a node may take to stop, whatever it cannot do.
const ending = time.Minute

// stopNode stops a node. It panics if the node does not end, whose goroutines would keep the trial from its end.
func (w *world) stopNode(i int) error {
	stopped := make(chan error, 1)
	go func() { stopped <- w.StopNode(w.ctx, i) }()
	select {
	case err := <-stopped:
		return err
	case <-time.After(ending):
		panic(fmt.Sprintf("node %d does not end", i))
	}
}

// note notes something that is wrong.
func (w *world) note(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = errors.Join(w.err, err)
}
