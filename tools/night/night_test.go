package main

import (
	"maps"
	"os"
	"strings"
	"testing"
	"time"
)

// What campaigns print is counted: the lines are those of their tests.
func TestCounts(t *testing.T) {
	outputs := map[string]string{
		"simulate": "12 trials of 1h30m0s in 7.5s, with 12345 operations\n" +
			"13 trials of 2h10m3s in 7.2s, with 1000 operations\n",
		"faults": "| operations checked | 100 |\n| faults proved | 7 |\n| trials | 2 |\n" +
			"| trials with a violation | 0 |\n",
		"soak":     "1000 operations (182 unknown) on 80 resources (60 judged): 976 grants\n",
		"hostile":  "3 connections, 20 moves, 4 MB sent\n10 records, 2 changes of theirs, 400 operations checked\n",
		"versions": "500 operations, 200 grants, 8 moves of shards\n",
		"mutants":  "found by actors in 3 s: two holders\nfound by actors/lease in 12 s: a token\nnot found: harm\n",
		"fuzz":     "FuzzKey: 400 executions\n1000 executions of 33 targets\n",
	}
	want := map[string]map[string]int{
		"simulate": {judged: 13345, "trials": 25, "minutes of virtual time": 220},
		"faults":   {judged: 100, "faults": 7, "trials": 2},
		"soak":     {judged: 1000},
		"hostile":  {judged: 400, "moves": 20},
		"versions": {judged: 500, "moves of shards": 8},
		"mutants":  {"mutants found": 2, "not found": 1},
		"fuzz":     {"executions": 1000},
	}
	for _, c := range campaigns {
		if got := c.count(outputs[c.name]); !maps.Equal(got, want[c.name]) {
			t.Errorf("%s: counted %v, want %v", c.name, got, want[c.name])
		}
	}
}

// A command that passes and has run no test is a failure.
func TestNothingIsCounted(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("bin/night", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("tools", 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir("tools")
	c := campaign{
		name: "gone", command: []string{"echo", "ok", "[no tests to run]"}, counts: map[string]string{judged: `(\d+)`},
	}
	r := c.run(t.Context(), time.Minute, 7, 0)
	if !r.Failed || r.Failure[0] != errNothing.Error() {
		t.Errorf("got %+v", r)
	}
}

// The campaigns leave time to build them, and each command has its seed and its time.
func TestCommands(t *testing.T) {
	shares := 0.0
	for _, c := range campaigns {
		shares += c.share
		command := strings.Join(c.arguments(40*time.Minute, 202611270628000, 7), " ")
		length := 40 * time.Minute / time.Duration(max(c.parts, 1))
		if strings.ContainsAny(command, "{}") || !c.again && !strings.Contains(command, length.String()) {
			t.Errorf("%s: the command is %q", c.name, command)
		}
	}
	if shares > 95 {
		t.Errorf("the campaigns have %v hundredths of the time", shares)
	}
}

func TestPage(t *testing.T) {
	n := night{
		Began: time.Date(2026, 11, 27, 6, 28, 0, 0, time.UTC), Commit: "0123456789ab", Hours: 2, Seed: 7, Cores: 2,
		Go: "go1.26.8", System: "linux/amd64", Campaigns: []result{
			{Name: "fuzz", Command: "make fuzz-blind", Minutes: 3, Counts: map[string]int{"executions": 1_002_003}},
			{
				Name: "soak", Command: "make soak", Minutes: 16.5, Counts: map[string]int{"a": 1, judged: 20_000},
				Failed: true, Failure: []string{"exit status 2", "--- FAIL: TestSoak | seed 7"},
			},
		},
	}
	later := n
	later.Began, later.Campaigns = n.Began.Add(time.Hour), n.Campaigns[:1]
	text := string(page([]night{later, n}))
	for _, line := range []string{
		"| fuzz | 2 | 0 | 6 | 2 004 006 executions |\n",
		"| soak | 1 | 1 | 16 | 20 000 operations judged, 1 a |\n",
		"| [27 November 2026, 07:28 UTC](2026-11-27T0728.json) | 2 | 0123456789ab | – |\n",
		"| [27 November 2026, 06:28 UTC](2026-11-27T0628.json) | 2 | 0123456789ab | soak |\n",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("the page lacks\n%s\nin\n%s", line, text)
		}
	}
}
