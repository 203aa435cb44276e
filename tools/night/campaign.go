package main

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// campaign is one kind of tests that may go on for any time.
type campaign struct {
	name string
	// share is how much of the time it has, in hundredths. Together they leave what building takes.
	share float64
	// command has {seed}, {for}, which is the time of the campaign, {each}, which is what each of its parts has of it,
	// and {next}, which is how much earlier nights have counted.
	command []string
	// parts is about how many tests share the time, if the command has {each}.
	parts int
	// least is how long it needs to come across what it has to.
	least time.Duration
	// again: one run takes minutes at most, so it is repeated until the time is over.
	again bool
	// counts are the numbers in the output, by what they are of: the sum of what the expression has in its parentheses,
	// or how often it is there, if it has none. A time counts in minutes.
	counts map[string]string
}

// judged is the count that all nights are summed up by.
const judged = "operations judged"

var campaigns = []campaign{
	{
		name: "simulate", share: 57,
		command: []string{"make", "simulate", "SEED={seed}", "ARGS=-simulation.for={for}"},
		counts: map[string]string{
			judged: `(\d+) operations`, "trials": `(\d+) trials of`, "minutes of virtual time": `trials of (\S+) in`,
		},
	},
	{
		name: "faults", share: 12,
		command: []string{"make", "faults", "FAULTS={for}", "SEED={seed}", "RACE=-race"},
		counts: map[string]string{
			judged: `\| operations checked \| (\d+)`, "trials": `\| trials \| (\d+)`,
			"faults": `\| faults proved \| (\d+)`,
		},
	},
	{
		name: "soak", share: 10,
		command: []string{"make", "soak", "SOAK={for}", "ARGS=-soak.seed {seed}"},
		counts:  map[string]string{judged: `(\d+) operations \(\d+ unknown\)`},
	},
	{
		name: "hostile", share: 3, least: time.Minute,
		command: []string{"make", "hostile", "HOSTILE={for}", "ARGS=-hostile.seed {seed}"},
		counts:  map[string]string{judged: `(\d+) operations checked`, "moves": `(\d+) moves`},
	},
	{
		name: "versions", share: 2, again: true,
		command: []string{"go", "test", "-count=1", "-v", "-run", "^TestTwoVersions$", "./cmd/holdfast"},
		counts:  map[string]string{judged: `(\d+) operations, \d+ grants`, "moves of shards": `(\d+) moves of shards`},
	},
	{
		name: "mutants", share: 5,
		command: []string{"make", "mutants", "ARGS=-mutants.for {for} -mutants.first {next}"},
		counts:  map[string]string{"mutants found": `found by .* in \d+ s: `, "not found": `not found: `},
	},
	{
		name: "search", share: 4, parts: searches,
		command: []string{"make", "search", "ARGS=-within {each}"},
		counts:  map[string]string{"situations": `(\d+) situations by`},
	},
	{
		name: "fuzz", share: 2, parts: targets,
		command: []string{"make", "fuzz-blind", "EXECUTIONS={each}"},
		counts:  map[string]string{"executions": `(\d+) executions of \d+ targets`},
	},
}

// targets and searches are about how many fuzz targets and exhaustive searches there are.
const targets, searches = 40, 10

func (c campaign) arguments(length time.Duration, seed uint64, counted int) []string {
	length = max(length.Round(time.Second), c.least)
	fill := strings.NewReplacer("{seed}", strconv.FormatUint(seed, 10), "{for}", length.String(),
		"{each}", (length / time.Duration(max(c.parts, 1))).String(), "{next}", strconv.Itoa(counted))
	args := make([]string, len(c.command))
	for i, arg := range c.command {
		args[i] = fill.Replace(arg)
	}
	return args
}

// count sums up the numbers in the output of a campaign.
func (c campaign) count(output string) map[string]int {
	sums := make(map[string]int)
	for what, expression := range c.counts {
		for _, match := range regexp.MustCompile(expression).FindAllStringSubmatch(output, -1) {
			sums[what] += number(match[1:])
		}
	}
	return sums
}

func number(groups []string) int {
	if len(groups) == 0 {
		return 1
	}
	if d, err := time.ParseDuration(groups[0]); err == nil {
		return int(d.Minutes())
	}
	n, _ := strconv.Atoi(groups[0]) // the expressions match digits
	return n
}
