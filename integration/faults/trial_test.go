//go:build linux

package faults_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/cluster"
	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/integration/register"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// patience bounds what must happen in the end on a busy machine. Nothing is measured by it.
	patience = time.Minute
)

// config is what trials have in common.
type config struct {
	clients, resources, ephemeral, hot int
	// grantable is how long a resource may stay held when all is healthy again.
	grantable time.Duration
	// floors are the least that a trial needs to count.
	floors linear.Floors
	// unguarded leaves the guard out of the register, which loses updates then.
	unguarded bool
	// nodes, external, former and delay are those of the cluster.
	nodes    int
	external bool
	former   string
	delay    time.Duration
	// loopback leaves networks and disks alone.
	loopback bool
	// keep is where the folders of trials go that have found something.
	keep string
}

// trial is one cluster, and what became of it.
type trial struct {
	*testing.T
	config
	seed uint64
	// schedule returns what is to go wrong in the cluster.
	schedule func(seed uint64, c *cluster.Cluster) cluster.Schedule

	began   time.Time
	cluster *cluster.Cluster
	// account is that of the clients if it is a tenant; empty: they are in the account of the nodes.
	account string
	client  *holdfast.Client
	watch   *linear.Events
	plain   *linear.Events
	load    *linear.Load
	counts  *counting
	journal *linear.Journal
	result
}

// result is what a trial has found.
type result struct {
	steps  cluster.Schedule
	proofs []cluster.Proof
	report *linear.Report
	tally  map[string]int
	// register is what came of the counters.
	register register.Report
	// of says in words what is special about the cluster, and pair how long a grant and its release take one client
	// in the end.
	of   string
	pair time.Duration
	// tenant: the clients were in the account of a tenant.
	tenant bool
	// takeovers of shards, changes of their number, and for each proof how long a shard of the last number granted nothing.
	takeovers, reshards int
	outages             []time.Duration
	// unproved are faults that may not have happened, void is why the trial does not count, wrong what must
	// not be.
	unproved, void, wrong error
}

// String is the result on one line.
func (r result) String() string {
	faults := make([]string, 0, len(r.proofs))
	for _, p := range r.proofs {
		faults = append(faults, p.Fault.String())
	}
	of := r.of
	if r.tenant {
		of += "of a tenant; "
	}
	if r.pair > 0 {
		of += fmt.Sprintf("a pair takes %v; ", r.pair.Round(time.Millisecond/10))
	}
	what := fmt.Sprintf(
		"%s%s; %d operations, %d grants, %d takeovers; %d increments, %d lost, %d stale writes refused: ",
		of, strings.Join(faults, ", "), r.report.Operations, r.report.Grants, r.takeovers,
		r.register.Acknowledged, r.register.Lost(), r.register.StaleWrites)
	switch {
	case r.wrong != nil:
		return what + "WRONG"
	case r.void != nil:
		return what + "void: " + strings.ReplaceAll(r.void.Error(), "\n", "; ")
	case r.unproved != nil:
		return what + fmt.Sprintf("sound, with %d faults that do not count", len(r.steps)-len(r.proofs))
	default:
		return what + "sound"
	}
}

// shardsOf returns with how many shards a trial begins: the default, or several.
func shardsOf(seed uint64) int {
	if seed/tenantEach%2 == 0 {
		return jetstream.DefaultShards
	}
	return 4
}

// play plays the trial from its beginning to its end, or until ctx ends: then it is void.
func (t *trial) play(ctx context.Context) {
	t.Helper()
	t.began, t.report = time.Now(), new(linear.Report)
	cfg := cluster.Config{
		Seed: t.seed, Loopback: t.loopback, Shards: shardsOf(t.seed),
		Nodes: t.nodes, Replicas: t.nodes, External: t.external, Former: t.former, Delay: t.delay,
		Args: []string{"--history", "10000000"}, // all of it is read afterwards
	}
	if t.seed%tenantEach == 0 && !t.external && t.former == "" {
		t.ofTenant(&cfg)
	}
	switch {
	case t.nodes > 0:
		t.of = fmt.Sprintf("%d nodes; ", t.nodes)
	case t.external:
		t.of = "beside a NATS cluster; "
	case t.former != "":
		t.of = "with a former version; "
	}
	t.cluster = cluster.Start(t, cfg)
	t.steps = t.schedule(t.seed, t.cluster)
	defer t.end()
	err := t.begin(ctx)
	if err != nil {
		t.fail(ctx, err)
		return
	}
	t.proofs, err = t.cluster.Run(ctx, t.steps)
	if errors.Is(err, cluster.ErrNoEvidence) && len(t.proofs) > 0 {
		t.unproved, err = err, nil // hidden by the others, it does not count, and they do
	}
	t.void = errors.Join(err, context.Cause(ctx))
	if ctx.Err() != nil {
		return
	}
	if err := t.judge(ctx); err != nil {
		t.fail(ctx, err)
	}
}

// fail notes what is wrong, which nothing is if it was ended from outside.
func (t *trial) fail(ctx context.Context, err error) {
	if ctx.Err() != nil {
		t.void = context.Cause(ctx)
		return
	}
	t.wrong = errors.Join(err, t.keepAll())
}

// begin returns when clients are at work.
func (t *trial) begin(ctx context.Context) error {
	if err := t.cluster.WaitHealthy(ctx); err != nil {
		return err
	}
	watching, err := t.cluster.Connect()
	if err != nil {
		return err
	}
	watcher, err := holdfast.New(watching)
	if err != nil {
		return err
	}
	asking, err := t.connect()
	if err != nil {
		return err
	}
	if t.client, err = holdfast.New(asking); err != nil {
		return err
	}
	if err := t.verifies(ctx); err != nil {
		return err
	}
	info, err := t.client.Info(ctx)
	if err != nil {
		return err
	}
	listening, err := t.connect()
	if err != nil {
		return err
	}
	if t.plain, err = linear.RecordSubscription("subscription", listening, messages.DefaultPrefix, t.account); err != nil {
		return err
	}
	t.watch = linear.RecordWatch(ctx, "watch", watcher)
	t.load, err = linear.StartLoad(ctx, linear.LoadConfig{
		Connect: func(int) (*nats.Conn, error) { return t.connect() }, Tenant: t.account, Identity: t.account,
		Imported: t.account != "", Shards: info.Shards, Clients: t.clients, Resources: t.names(),
		Ephemeral: t.ephemeral, Shared: true, Blocks: t.former == "", Hot: t.hot, Seed: t.seed,
	})
	if err != nil {
		return err
	}
	t.counts = t.count(ctx)
	return t.work(ctx, warm, warmCount)
}

// names are new in every trial, though its cluster is as well: artifacts distinguish them.
func (t *trial) names() (all []string) {
	for i := range t.resources {
		all = append(all, fmt.Sprintf("trial.%d.%d", t.seed, i))
	}
	return all
}

// judge waits until all is well, and checks everything.
func (t *trial) judge(ctx context.Context) error {
	err := t.cluster.WaitHealthy(ctx)
	if err == nil {
		err = t.work(ctx, well, wellCount)
	}
	history := t.load.Stop()
	t.tally = t.load.Tally()
	if err != nil {
		return err
	}
	counted := t.counts.stop()
	t.register = t.counts.report
	if err := t.read(ctx); err != nil {
		return err
	}
	t.takeovers, t.reshards = t.journal.Takeovers(), t.journal.Generations()-1
	t.outages = outages(history, t.journal.Shards(), t.proofs)
	alive := errors.Join(t.probe(ctx), t.measure(ctx))
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	watched := t.watch.Await(bounded, t.journal)
	report, err := linear.Check(ctx, history, t.journal, []*linear.Events{t.watch, t.plain}, linear.Terms{
		Floors: t.floors, Artifacts: t.folder(),
	})
	t.report = report
	if vacuous(report) {
		t.void, err = errors.Join(t.void, err), nil
	}
	return errors.Join(alive, watched, counted, err)
}

// vacuous reports whether nothing is wrong but that too little has happened.
func vacuous(r *linear.Report) bool {
	for _, v := range r.Violations {
		if v.Check != "floors" {
			return false
		}
	}
	return len(r.Violations) > 0
}

// read reads the journals, by way of a connection of its own.
func (t *trial) read(ctx context.Context) error {
	nc, err := t.cluster.Connect()
	if err != nil {
		return err
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	t.journal, err = linear.ReadJournal(ctx, nc, messages.DefaultPrefix)
	return err
}

// end ends what begin has begun, and waits for it.
func (t *trial) end() {
	if t.load != nil {
		t.load.Stop()
	}
	if t.counts != nil {
		_ = t.counts.stop() // its error was asked for before
	}
	for _, e := range []*linear.Events{t.watch, t.plain} {
		if e != nil {
			e.Stop()
		}
	}
}
