//go:build linux

package faults_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/cluster"
	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/integration/stand"
)

var (
	length   = flag.Duration("faults.for", 0, "how long trials are made; 0: none, but for the one of every test run")
	seed     = flag.Uint64("faults.seed", 0, "the seed of the first trial, to which each one adds one; 0: any")
	kinds    = flag.String("faults.kinds", "", "the kinds of faults, with commas between; empty: all that can happen")
	most     = flag.Int("faults.most", 4, "how many faults a trial has at most")
	nodes    = flag.Int("faults.nodes", 0, "how many nodes a trial has; 0: three, and five in some trials")
	external = flag.Bool("faults.external", false, "nodes beside a NATS cluster of three servers, in every trial")
	former   = flag.String("faults.former", "", "a commit whose binary n1 runs; empty: all nodes run this version")
	slow     = flag.Duration("faults.delay", 0, "how long every frame is on its way, all the time")
	keep     = flag.String("faults.keep", "",
		"where a folder is made for each trial that finds something; empty: among the temporary files")
)

// campaign is what the trials of one run of TestFaults have in common.
var campaign = config{
	clients: 160, resources: 300, ephemeral: 10, hot: 2, grantable: 15 * time.Second,
	floors: linear.Floors{Operations: 1000, Grants: 200, HandOffs: 100, Events: 200},
}

// Faults that a seed draws happen for as long as the flag says. See make faults.
func TestFaults(t *testing.T) {
	if *length == 0 {
		t.Skip("it lasts for as long as it is to: make faults FAULTS=30m")
	}
	for _, k := range chosen() {
		if !slices.Contains(cluster.Kinds(), k) {
			t.Fatalf("-faults.kinds: there is no kind %q; there are %q", k, cluster.Kinds())
		}
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
	defer stop()
	cfg, first := campaign, *seed
	cfg.keep = kept()
	if *former != "" {
		cfg.former = stand.BinaryAt(t, *former)
	}
	if first == 0 {
		first = uint64(rand.Uint32())
	}
	var all totals
	wrong, begun := 0, time.Now()
	for n := uint64(0); n == 0 || time.Since(begun) < *length; n++ {
		began := time.Now()
		r := run(ctx, t, &trial{config: varied(cfg, first+n), seed: first + n, schedule: draw})
		if ctx.Err() != nil {
			break // as if the last had not begun
		}
		all.add(r)
		say("%d, seed %d, %.0f s: %v\n", n+1, first+n, time.Since(began).Seconds(), r)
		if r.wrong != nil {
			wrong++
		}
		if wrong == mostWrong {
			break // what was found is worth more than what might be
		}
	}
	several := all.sound > leastVoid // and not one that is played again
	if several && ctx.Err() == nil && !t.Failed() {
		loseUpdates(ctx, t, cfg)
	}
	say("\nIn %v, of the trials that count:\n\n%v\n", time.Since(begun).Round(time.Second), &all)
	if all.void > leastVoid && all.void > all.sound/mostVoid {
		t.Errorf("%d trials are void and %d count: too much cannot be proved", all.void, all.sound)
	}
	if several && all.register.StaleWrites == 0 {
		t.Errorf("in %d trials the register's guard had nothing to refuse: it proves nothing", all.sound)
	}
}

const (
	// mostWrong trials end a campaign: whether one that is wrong is the only one says much about why.
	mostWrong = 3
	// Of those that count, one in mostVoid may be void, and leastVoid in any case.
	leastVoid = 3
	mostVoid  = 5
)

// say prints progress.
func say(format string, args ...any) { _, _ = fmt.Fprintf(os.Stdout, format, args...) }

// kept is where artifacts go; nothing is made there before there are any.
func kept() string {
	if *keep != "" {
		return *keep
	}
	return filepath.Join(os.TempDir(), "holdfast-faults")
}

// run lets a trial be a test of its own, so that its cluster ends with it.
func run(ctx context.Context, t *testing.T, one *trial) result {
	t.Helper()
	passed := t.Run(fmt.Sprintf("seed=%d", one.seed), func(t *testing.T) {
		one.T = t
		one.play(ctx)
		if one.wrong != nil {
			t.Errorf("%v\nkept in %s; again: %s", one.wrong, one.folder(), one.again())
		}
	})
	if !passed && one.wrong == nil {
		one.wrong = errors.New("the cluster could not be started, or a node has said what none may say")
	}
	return one.result
}

// Every fiveEach-th seed has five nodes which all keep every shard, and every externalEach-th has three beside a NATS
// cluster.
const (
	fiveEach     = 5
	externalEach = 7
)

// varied is the configuration of a trial: what the flags say, or else what its seed does.
func varied(cfg config, seed uint64) config {
	cfg.nodes, cfg.external, cfg.delay = *nodes, *external, *slow
	if cfg.external || cfg.former != "" || cfg.delay > 0 || cfg.nodes > 0 {
		return cfg
	}
	switch {
	case seed%fiveEach == 0:
		cfg.nodes = 5
	case seed%externalEach == 0 && seed%tenantEach != 0:
		cfg.external = true
	}
	return cfg
}

// draw draws up to -faults.most faults, up to two fewer in some trials.
func draw(seed uint64, c *cluster.Cluster) cluster.Schedule {
	return cluster.Random(seed, cluster.Mix{
		Nodes: c.Nodes(), Storing: c.Storing(), Kinds: possible(c), Length: 15 * time.Second,
		Faults: max(1, *most-int(seed%3)), Shortest: time.Second, Longest: 6 * time.Second,
	})
}

// possible returns the chosen kinds that can happen to the cluster.
func possible(c *cluster.Cluster) (all []cluster.Kind) {
	all = chosen()
	if len(all) == 0 {
		all = cluster.Kinds()
	}
	return slices.DeleteFunc(all, func(k cluster.Kind) bool { return !c.Can(k) })
}

// chosen returns the kinds that the flag names; none: all.
func chosen() (all []cluster.Kind) {
	for name := range strings.SplitSeq(*kinds, ",") {
		if name = strings.TrimSpace(name); name != "" {
			all = append(all, cluster.Kind(name))
		}
	}
	return all
}

// drawn are the flags without which a seed draws something else.
func drawn() string {
	var flags []string
	flag.Visit(func(f *flag.Flag) {
		if !slices.Contains([]string{"faults.for", "faults.seed", "faults.keep"}, f.Name) &&
			strings.HasPrefix(f.Name, "faults.") {
			flags = append(flags, fmt.Sprintf("-%s=%s", f.Name, f.Value))
		}
	})
	if len(flags) == 0 {
		return ""
	}
	return fmt.Sprintf(" ARGS=%q", strings.Join(flags, " "))
}
