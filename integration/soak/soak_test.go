package soak

import (
	"context"
	"flag"
	"fmt"

	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/actors/node/identity"
	"github.com/holdfast-io/holdfast/integration/audit"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
)

var (
	length    = flag.Duration("soak.for", 0, "how long the clients play; 0: a short run")
	clients   = flag.Int("soak.clients", 0, "how many clients there are; 0: 300 in a short run, 2000 else")
	processes = flag.Int("soak.processes", 32, "how many connections they share")
	resources = flag.Int("soak.resources", 300, "how many resources there are")
	seed      = flag.Uint64("soak.seed", 0, "what the clients' dice begin with; 0: any")
)

// configured is what the flags say, at a hundredfold of the node's speed.
func configured() config {
	cfg := config{
		seed: *seed, length: *length, clients: *clients, processes: *processes, resources: *resources, shards: 4,
		crashEvery: 6 * time.Second, restartEvery: 10 * time.Second,
		tuning: actors.Tuning{
			MaxWaiting: 150, CompactCommits: 500, CompactBytes: 320 << 10, History: 500,
			Remember: time.Second, ShrinkAfter: 600 * time.Millisecond, MaxRemembered: 40,
			IdleAfter: 300 * time.Millisecond, CommitDecisions: 200,
		},
	}
	if cfg.seed == 0 {
		cfg.seed = rand.Uint64()
	}
	if cfg.length == 0 {
		cfg.length, cfg.crashEvery, cfg.restartEvery = 8*time.Second, 3*time.Second, 3*time.Second
		cfg.tuning.CompactCommits, cfg.tuning.History = 100, 200
		if cfg.clients == 0 {
			cfg.clients = 300
		}
	}
	if cfg.clients == 0 {
		cfg.clients = 2000
	}
	return cfg
}

func TestSoak(t *testing.T) { soak(t, configured()) }

// The same holds for a tenant with verified owners, in a fifth of the time. It asks through imports, so the node does
// not learn that a client has gone while it waited.
func TestTenantSoak(t *testing.T) {
	cfg := configured()
	cfg.length, cfg.account = max(cfg.length/5, 4*time.Second), stand.Tenant
	soak(t, cfg)
}

func soak(t *testing.T, cfg config) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	r, err := newRun(cfg, cancel)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("seed %d: %d clients on %d connections, %d resources, %v", cfg.seed, cfg.clients, cfg.processes,
		cfg.resources, cfg.length)
	where := stand.Config{
		Shards: cfg.shards, Tuning: cfg.tuning,
		Capacity: node.Capacity{Held: int64(cfg.resources + spare), Waiting: int64(2 * cfg.clients)},
	}
	if cfg.account != "" {
		where.ConfigFile, where.Identity = stand.NATSConfig(t, stand.TenantLogins(cfg.shards)), identity.Account
		where.Login, _ = stand.AsNode()
		where.Tenants = map[string]node.TenantLimits{cfg.account: {Rate: 1_000_000}}
	}
	s := stand.Start(t, where)
	p := &play{T: t, run: r, stand: s, auditor: newAuditor(r), dice: newDice(cfg.seed, 1<<32)}
	p.quiet = runtime.NumGoroutine()
	p.auditor.deployment = s.Deployment
	p.watched(ctx, func() {
		p.play(ctx)
		p.inspect(ctx)
	})
	p.closeBooks(ctx)
	total := p.auditor.totals()
	t.Log(r.table(total, p.played, p.heaps))
	if err := context.Cause(ctx); err != nil {
		t.Fatalf("seed %d: %v", cfg.seed, err)
	}
	p.floors(total)
}

// play is a test's side of a run.
type play struct {
	*testing.T
	*run
	stand   *stand.Stand
	auditor *auditor
	dice    *dice
	// quiet is how many goroutines there were before any client.
	quiet  int
	played time.Duration
	heaps  []uint64
}

// watched runs f while the auditor reads the journals.
func (p *play) watched(ctx context.Context, f func()) {
	var reading sync.WaitGroup
	defer reading.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	reading.Go(func() { p.auditor.watch(ctx) })
	f()
}

// play lets the clients play for their time, and restarts the node now and then.
func (p *play) play(ctx context.Context) {
	running, stop := context.WithCancel(ctx)
	var clients, processes sync.WaitGroup
	p.address.set(p.stand.Server.ClientURL())
	var all []*process
	for i := range p.cfg.processes {
		one := newProcess(p.run)
		all = append(all, one)
		processes.Go(func() { one.live(running, newDice(p.cfg.seed, 1<<33+uint64(i))) })
	}
	for id := range p.cfg.clients {
		c := newClient(p.run, id, all[id%len(all)])
		clients.Go(func() { c.live(ctx) })
	}
	p.steer(ctx)
	p.stop.Store(true)
	clients.Wait()
	p.played = p.now()
	stop()
	processes.Wait()
}

// patience is by how much a slow machine may exceed its time.
const patience = 3 * time.Minute

// steer restarts the node from time to time until the time is up, and on a slow machine until enough
// has happened to prove something.
func (p *play) steer(ctx context.Context) {
	over := time.NewTimer(p.cfg.length)
	defer over.Stop()
	again := p.nextRestart()
	for {
		select {
		case <-over.C:
			if p.now() > p.cfg.length+patience || len(p.missing()) == 0 {
				return
			}
			over.Reset(time.Second)
		case <-ctx.Done():
			return
		case <-again:
			p.restart()
			p.weigh()
			again = p.nextRestart()
		}
	}
}

// nextRestart is when the node is restarted again.
func (p *play) nextRestart() <-chan time.Time {
	return p.after(p.dice.between(p.cfg.restartEvery/2, 3*p.cfg.restartEvery/2))
}

// restart restarts the node in good order.
func (p *play) restart() {
	p.auditor.without(func() *jetstream.Deployment {
		p.restarting()
		p.stand.Restart()
		p.restarted()
		return p.stand.Deployment
	})
	p.address.set(p.stand.Server.ClientURL())
}

// weigh notes how large the heap is.
func (p *play) weigh() {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	p.heaps = append(p.heaps, m.HeapAlloc)
}

// inspect checks that nothing is left behind when the clients are gone: all resources are free, no request
// waits, and the node has counted well, also after one more restart.
func (p *play) inspect(ctx context.Context) {
	p.probe(ctx, func(q *probe) error { return q.drained(ctx, longestTTL+bound) })
	p.probe(ctx, func(q *probe) error { return q.holdAll(ctx) })
	if p.cfg.account == "" { // else what waits would be granted, and held
		p.probe(ctx, func(q *probe) error { return q.waitAll(ctx, 2*p.cfg.clients) })
	}
	p.probe(ctx, func(q *probe) error { return q.releaseAll(ctx) })
	p.probe(ctx, func(q *probe) error { return q.drained(ctx, bound) })
	p.restart()
	p.probe(ctx, func(q *probe) error { return q.holdAll(ctx) })
	p.probe(ctx, func(q *probe) error { return q.releaseAll(ctx) })
}

// closeBooks checks that what was promised stands in the journals, and that nothing is left behind.
func (p *play) closeBooks(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	if err := p.auditor.read(ctx); err != nil {
		p.Error(err)
	}
	if err := p.auditor.fresh(ctx); err != nil {
		p.Error(err)
	}
	if p.auditor.totals().Gaps == 0 {
		for _, r := range p.resources {
			r.checkMatched()
		}
	}
	p.settled()
	p.light()
}

func (p *play) probe(ctx context.Context, ask func(*probe) error) {
	p.Helper()
	if ctx.Err() != nil || p.Failed() {
		return
	}
	nc, err := nats.Connect(p.stand.Server.ClientURL(), p.login)
	if err != nil {
		p.Fatal(err)
	}
	defer nc.Close()
	if err := ask(&probe{run: p.run, nc: nc}); err != nil {
		p.Error(err)
	}
}

// settled waits until there are as few goroutines as before.
func (p *play) settled() {
	const slack = 10 // of the libraries
	now := runtime.NumGoroutine()
	for began := p.now(); now > p.quiet+slack; now = runtime.NumGoroutine() {
		if p.now()-began > bound {
			stacks := make([]byte, 1<<20)
			p.Errorf("%d goroutines are left, where there were %d:\n%s", now, p.quiet,
				stacks[:runtime.Stack(stacks, true)])
			return
		}
		<-p.after(50 * time.Millisecond)
	}
	p.Logf("%d goroutines before, %d after", p.quiet, now)
}

// light checks that the heap does not grow: its last third is not much heavier than the one before.
// What is kept of the history is bounded in time, so the first minutes do not count.
func (p *play) light() {
	var settled []uint64
	if skip := int(2 * memory / p.cfg.restartEvery); len(p.heaps) > skip+6 {
		settled = p.heaps[skip:]
	}
	if len(settled) == 0 {
		return
	}
	third := len(settled) / 3
	middle, last := mean(settled[third:2*third]), mean(settled[2*third:])
	if last > middle*3/2+(32<<20) {
		p.Errorf("the heap grows: %d MB in the middle, %d MB at the end", middle>>20, last>>20)
	}
}

func mean(n []uint64) (sum uint64) {
	for _, v := range n {
		sum += v
	}
	return sum / uint64(len(n))
}

// missing says of what too little has happened for a run to prove anything.
func (p *play) missing() (missing []string) {
	total, seconds := p.auditor.totals(), int64(p.cfg.length/time.Second)
	for _, floor := range []struct {
		what       string
		got, least int64
	}{
		{"operations", p.operations(), 100 * seconds},
		{"hand-overs", p.handOvers.Load(), 5 * seconds},
		{"expiries", total.Kinds[messages.Event_EXPIRED], 2 * seconds},
		{"ends of holds", total.Kinds[messages.Event_CONFIRMED], seconds / 2},
		{"bounces", total.Bounces, seconds / 2},
		{"pages", total.Pages, seconds / 2},
		{"forgotten", total.Forgotten, seconds},
		{"restarts", int64(len(p.restarts)), max(seconds/20, 2)},
		{"crashes", p.crashes.Load(), seconds / 4},
		{"ephemeral grants", p.volatile.Load(), 5 * seconds},
		{"grants in both books", p.matched.Load(), 10 * seconds},
		{"grants in their order", p.ordered.Load(), 5 * seconds},
		{"keeps of sessions", p.keeps.Load(), seconds},
		{"hold windows", p.windows.Load(), 20 * seconds},
		{"shared grants", p.shared.Load(), 10 * seconds},
		{"hold windows beside others", p.together.Load(), 2 * seconds},
		{"late copies of ended requests", p.lateEnded.Load(), seconds},
		{"late copies of withdrawn requests", p.lateWithdrawn.Load(), seconds / 4},
	} {
		through := p.cfg.account != "" && floor.what == "bounces" // an import
		if floor.got < floor.least && !through {
			missing = append(missing, fmt.Sprintf("%d %s, want at least %d", floor.got, floor.what, floor.least))
		}
	}
	return missing
}

// floors fails a run in which too little happened.
func (p *play) floors(total audit.Totals) {
	for _, what := range p.missing() {
		p.Error("vacuous: " + what)
	}
	if total.Gaps > 0 || total.Unseen > total.Pages { // pages are replaced before they are read on a busy machine
		p.Errorf("vacuous: the journals were read with %d gaps and %d records unseen", total.Gaps, total.Unseen)
	}
}
