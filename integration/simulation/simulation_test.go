package simulation

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/linear"
)

var (
	seed   = flag.Uint64("simulation.seed", 1, "the seed of the first trial")
	trials = flag.Int("simulation.trials", fewTrials, "how many trials there are, each of the next seed")
	within = flag.Duration("simulation.for", 0, "how long trials are begun, in the place of a number; 0: there is one")
	kept   = flag.String("simulation.artifacts", "", "the folder for the history and the journals of a trial that fails")
	trace  = flag.String("simulation.trace", "", "the file for the deliveries of the last trial; empty: none")
)

func TestMain(m *testing.M) {
	flag.Parse()
	runtime.GOMAXPROCS(1)                          // with two threads, which of two goroutines comes first is not the seed's choice
	debug.SetGCPercent(400)                        // a trial needs little memory, and collecting it takes a fifth of its time
	slog.SetDefault(slog.New(slog.DiscardHandler)) // clients of the project report what the load does on purpose
	os.Exit(m.Run())
}

// enough is how many trials come across everything.
const enough = 50

// usual is what some trials together must have come across, or they have shown little.
var usual = []string{
	"acquire GRANTED", "acquire HELD", "acquire HELD_BACK", "acquire TIMEOUT", "acquire CANCELLED", "acquire EXPIRED",
	"acquire RELEASED", "release RELEASED", "release EXPIRED", "extend EXTENDED", "extend EXPIRED", "set UPDATED",
	"break RELEASED", "confirm RELEASED", "get HELD", "get FREE", "keep EXTENDED", "end RELEASED",
	"worker extended", "worker released by another process", "worker released by another process, in a session",
	"worker acquired all", "worker elected", "worker proclaimed", "worker permits", "worker written", "worker shared",
	"worker downgraded", "worker held back", "worker confirmed", "worker broken", "worker set", "worker reentered",
	"worker lost", "worker refused by the guard",
	"worker use of a cached lease", "worker cached lease of another client returned", "worker wanted", "worker late write",
	"worker broken in a use", "worker acquired all cached", "worker rest waited for", "worker longest hold",
	"block that has grown", "rest",
	"acquire OVERLOADED", "page", "page with a floor", "hand-over", "forgotten", "restored", "subscription", "watch",
	"panic of actors.(*term).stored", "panic of actors.newTerm", "panic of replay", "panic of actors.(*resourceActor).decide",
	"another owner refused", "sessions full",
	"reshard done", "reshard given up", "reshard killed",
}

// usualOfTenants is what must have come to each tenant.
var usualOfTenants = []string{
	"acquire GRANTED", "acquire HELD", "acquire HELD_BACK", "acquire TIMEOUT", "acquire CANCELLED", "release RELEASED",
	"extend EXTENDED", "keep EXTENDED", "end RELEASED", "subscription",
}

// Whatever goes wrong, each answer of the service is one that a correct lock gives, and agrees with the journal.
func TestTrials(t *testing.T) {
	began := time.Now()
	var virtual time.Duration
	var operations, n int
	seen := make(map[string]bool)
	for ; n < *trials && *within == 0 || time.Since(began) < *within; n++ {
		if t.Failed() && failFast() {
			break
		}
		x := NewTrial(*seed + uint64(n))
		t.Run(fmt.Sprint("seed ", x.Seed), func(t *testing.T) {
			o := judge(t, x)
			virtual += o.Virtual
			operations += o.Operations
			for what := range o.Tally {
				seen[what] = true
			}
			for _, f := range o.Faults {
				seen[f.Name] = true
			}
			seen["lasting: "+o.Lasting] = true
		})
	}
	t.Logf("%d trials of %v in %v, with %d operations", n, virtual.Truncate(time.Second),
		time.Since(began).Truncate(time.Millisecond), operations)
	if t.Failed() {
		return
	}
	say := t.Errorf
	if n < enough {
		say = t.Logf
	}
	for _, f := range faults {
		if !seen[f.name] {
			say("no trial had the fault: %s", f.name)
		}
	}
	for _, f := range lasting {
		if !seen["lasting: "+f.name] {
			say("in no trial this lasted: %s", f.name)
		}
	}
	all := slices.Clone(usual)
	for _, tenant := range tenants {
		for _, what := range usualOfTenants {
			all = append(all, what+side{tenant: tenant}.String())
		}
	}
	for _, what := range all {
		if !seen[what] {
			say("no trial had the outcome: %s", what)
		}
	}
}

// failFast reports whether nothing is to begin after a failure.
func failFast() bool { return flag.Lookup("test.failfast").Value.String() == "true" }

// judge runs a trial and checks what it has shown. Of one that fails it reports what is left when each fault that does
// not matter is left out.
func judge(t *testing.T, x Trial) Outcome {
	t.Helper()
	if *trace != "" {
		f, err := os.Create(*trace)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		x.Trace = f
	}
	o, err := x.check(t)
	if err == nil {
		return o
	}
	if failFast() {
		t.Fatalf("seed %d: %v", x.Seed, err)
	}
	t.Errorf("%v\nagain: go test ./integration/simulation -run TestTrials -simulation.trials 1 -simulation.seed %d",
		err, x.Seed)
	var log strings.Builder
	x = x.shrink(t)
	x.Log, x.Trace = &log, nil
	smaller, again := x.check(t)
	if again == nil {
		again = errors.New("it has not happened again")
	}
	t.Logf("with the fewest faults:\n%s\n%v\nthe log of the nodes:\n%s", x.describe(smaller), again, &log)
	return o
}

// check runs a trial. The error is what is wrong.
func (x Trial) check(t *testing.T) (Outcome, error) {
	t.Helper()
	o, err := x.Run(t)
	if err != nil {
		return o, err
	}
	terms := linear.Terms{Full: x.Capacity.Held > 0, Remember: x.Tuning.Remember, Artifacts: *kept}
	if x.Tuning.CommitDecisions > 0 { // a decision may wait for several commits
		terms.Remember = 0
	}
	report, err := linear.Check(t.Context(), o.History, o.Journal, nil, terms)
	o.Operations = report.Operations
	if report.Forgotten > 0 {
		o.Tally["forgotten"] = report.Forgotten
	}
	return o, err
}

// shrink returns a trial that fails with fewer faults.
func (x Trial) shrink(t *testing.T) Trial {
	t.Helper()
	for i := range x.Faults {
		fewer := x
		fewer.Without = append(slices.Clone(x.Without), i)
		if _, err := fewer.check(t); err != nil {
			x = fewer
		}
	}
	return x
}

// describe says what a trial consisted of.
func (x Trial) describe(o Outcome) string {
	lines := []string{fmt.Sprintf("%d nodes, %d servers, %d clients, %d shards of %d replicas, for %v",
		x.Nodes, x.Servers, x.Clients, x.Shards, x.Replicas, x.Length),
		fmt.Sprintf("%+v %+v", x.Tuning, x.Capacity),
		fmt.Sprintf("%d tenants, identity %v, operators %t", len(x.Tenants), x.Identity, x.Operators)}
	for _, f := range o.Faults {
		lines = append(lines, fmt.Sprintf("%v: %s", f.At, f.Name))
	}
	return strings.Join(lines, "\n")
}

// A seed has the same deliveries at the same times, but for what Go leaves to chance: which of several cases of a
// select that are ready is taken.
func TestSeedRepeats(t *testing.T) {
	if race {
		t.Skip("the race detector lets goroutines come in a random order")
	}
	const tries = 4
	for n := range uint64(3) {
		x := NewTrial(*seed + n)
		x.Workers = 0 // each of their clients has several goroutines that are ready at once
		traces := make(map[string]int)
		for range tries {
			o, err := x.Run(t)
			if err != nil {
				t.Fatal(err)
			}
			traces[o.Trace]++
		}
		t.Logf("seed %d: %d of %d tries have the trace of another one", x.Seed, tries-len(traces)+1, tries)
		if len(traces) == tries {
			t.Errorf("seed %d: each of %d tries has another trace", x.Seed, tries)
		}
	}
}
