// Command peers measures Holdfast and its peers in turns, and prints how they compare. docs/performance.md explains
// the rows; peers -help lists the flags.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-io/holdfast/integration/peers/network"
	"github.com/holdfast-io/holdfast/integration/peers/peer"
	"github.com/holdfast-io/holdfast/integration/peers/suite"
)

func main() {
	asked, err := network.SwitchIfAsked()
	if !asked {
		err = errors.Join(peer.EchoIfAsked(), run(os.Args[1:]))
	}
	if ended, is := errors.AsType[*exec.ExitError](err); is { // it has printed why
		os.Exit(ended.ExitCode())
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		_, _ = fmt.Fprintln(os.Stderr, "peers:", err) // an error of stderr cannot be reported
		os.Exit(1)
	}
}

func run(args []string) error {
	c := suite.Config{Log: os.Stderr}
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	page := define(flags, &c)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("there are no arguments, got %q", flags.Args())
	}
	if slices.Contains(c.Nodes, 2) {
		return errors.New("-nodes: two nodes confirm nothing that one does not; give 1 or 3")
	}
	if most := slices.Max(c.Clients); c.Resources < most {
		return fmt.Errorf("-resources: at least one for each client, got %d for %d", c.Resources, most)
	}
	if slices.Max(c.Delays) > 0 {
		if entered, err := network.Enter(); err != nil || !entered {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, failed := suite.Run(ctx, c)
	r.Command = "make bench-peers"
	if len(args) > 0 {
		r.Command += " ARGS='" + strings.Join(args, " ") + "'"
	}
	against := ""
	if c.Against != "" {
		against = suite.AgainstName
	}
	_, _ = fmt.Fprint(os.Stdout, "\n"+r.Text(against)) // an error of stdout cannot be reported
	if *page == "" || failed != nil {
		return failed
	}
	return r.WritePage(*page, against)
}

// define defines the flags, and returns that of the page.
func define(f *flag.FlagSet, c *suite.Config) (page *string) {
	c.Peers, c.Clients, c.Nodes = suite.Peers, []int{1, 64, 512}, []int{1, 3}
	c.Workloads = peer.Workloads
	f.Func("peers", "`list` of peers (default "+strings.Join(suite.Peers, ",")+")", words(&c.Peers, suite.Peers))
	f.Func("workloads", "`list` of workloads (default all: pairs,hot,extend,keep,cached)", words(&c.Workloads, peer.Workloads))
	f.Func("clients", "`list` of numbers of clients (default 1,64,512)", numbers(&c.Clients, 10_000))
	f.Func("nodes", "`list` of numbers of nodes, 1 and 3 (default 1,3)", numbers(&c.Nodes, 3))
	c.Delays = []time.Duration{0}
	f.Func("delay", "`list` of round trips between nodes, and between clients and nodes, each of which gets a network "+
		"namespace, such as 500us,2ms; 0 is the loopback (default 0)", durations(&c.Delays))
	f.Func("sharded", "`list` of numbers of shards with which Holdfast is compared as well, such as 4",
		numbers(&c.Sharded, 1024))
	f.IntVar(&c.Rounds, "rounds", 5, "how often each peer is measured, in turns")
	f.DurationVar(&c.For, "for", 3*time.Second, "how long a peer is measured in a round")
	f.DurationVar(&c.Warm, "warm", 500*time.Millisecond, "how long its load runs before that")
	f.IntVar(&c.Resources, "resources", 10_000, "how many resources are locked in pairs")
	f.IntVar(&c.Connections, "connections", 4, "how many connections the clients of a peer share")
	f.Func("shards", "`list` of numbers of shards with which Holdfast is measured as well, such as 1,4,16,64",
		numbers(&c.SweepShards, 1024))
	f.Func("sweep", "`list` of numbers of resources with which Holdfast is measured as well, such as 1000,10000,100000",
		numbers(&c.SweepResources, 100_000_000))
	f.Func("connected",
		"`list` of numbers of clients with a connection each with which Holdfast is measured as well, such as "+
			"10,100,1000,10000", numbers(&c.SweepConnections, 30_000))
	f.DurationVar(&c.Rest, "rest", 10*time.Second,
		"how long a deployment with other numbers is left alone before what it uses at rest is measured")
	f.StringVar(&c.Against, "against", "", "`commit` of an older Holdfast to build and to measure as well")
	f.StringVar(&c.Dir, "dir", os.TempDir(), "`directory` for the data, on the disk that is to be measured")
	return f.String("page", "", "`file` in Markdown to write the report to; plots and figures go into a folder beside it")
}

// words returns a parser of a list of known words.
func words[T ~string](into *[]T, known []T) func(string) error {
	return func(text string) error {
		*into = nil
		for word := range strings.SplitSeq(text, ",") {
			if !slices.Contains(known, T(word)) {
				return fmt.Errorf("%q is none of %v", word, known)
			}
			*into = append(*into, T(word))
		}
		return nil
	}
}

// longestDelay is once around the world.
const longestDelay = time.Second

// durations returns a parser of a list of delays.
func durations(into *[]time.Duration) func(string) error {
	return func(text string) error {
		*into = nil
		for word := range strings.SplitSeq(text, ",") {
			d, err := time.ParseDuration(word)
			if err != nil || d < 0 || d > longestDelay {
				return fmt.Errorf("%q is no duration from 0 to %v, such as 500us", word, longestDelay)
			}
			*into = append(*into, d)
		}
		return nil
	}
}

// numbers returns a parser of a list of numbers from 1 on.
func numbers(into *[]int, most int) func(string) error {
	return func(text string) error {
		*into = nil
		for word := range strings.SplitSeq(text, ",") {
			n, err := strconv.Atoi(word)
			if err != nil || n < 1 || n > most {
				return fmt.Errorf("%q is no number from 1 to %d", word, most)
			}
			*into = append(*into, n)
		}
		return nil
	}
}
