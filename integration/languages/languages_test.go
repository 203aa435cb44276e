package languages_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages/porttest"
)

var (
	rounds  = flag.Int("languages.rounds", 0, "measure in so many `ROUNDS`; 0: not at all")
	seconds = flag.Int("languages.seconds", 5, "length of a measurement of pairs, in `SECONDS`")
	locks   = flag.Int("languages.locks", 10_000, "`NUMBER` of locks that a client holds")
)

// holdSeconds is for how long the cost of locks that are held is measured, losses how many locks are broken.
const holdSeconds, losses = 30, 20

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(stand.Main(m))
}

// load is a program that measures one client.
type load struct {
	name    string
	command []string
	dir     string
	// redis: its locks are on Redis, and it only measures pairs. cached: it also measures cached locks.
	redis, cached bool
}

// TestFigures prints what it measures. It fails if a load does.
func TestFigures(t *testing.T) {
	if *rounds == 0 {
		t.Skip("make bench-clients")
	}
	goClient := filepath.Join(t.TempDir(), "load")
	if out, err := exec.Command("go", "build", "-o", goClient, "./golang").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	python, err := filepath.Abs("../../clients/python/.venv/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	const jars = "java/target/lib/*"
	loads := []load{
		{name: "Holdfast, Go", command: []string{goClient}},
		{name: "Holdfast, TypeScript", command: []string{"node", "holdfast.mjs"}, dir: "node", cached: true},
		{name: "Redlock on one Redis, TypeScript", command: []string{"node", "redlock.mjs"}, dir: "node", redis: true},
		{name: "Holdfast, Python", command: []string{python, "holdfast_load.py"}, dir: "python", cached: true},
		{name: "redis-py on one Redis, Python", command: []string{python, "redis_load.py"}, dir: "python", redis: true},
		{name: "Holdfast, Java", command: []string{"java", "-cp", jars, "HoldfastLoad"}, cached: true},
		{name: "Redisson RLock, Java", command: []string{"java", "-cp", jars, "RedissonLoad"}, redis: true},
		{name: "Redisson RFencedLock, Java", command: []string{"java", "-Dfenced=true", "-cp", jars, "RedissonLoad"}, redis: true},
	}
	urls := map[bool]string{false: stand.StartAlone(t).URL, true: startRedis(t)}
	for _, kind := range []struct {
		name, load      string
		number, seconds int
	}{
		{"pairs, 1 task", "pairs", 1, *seconds},
		{"pairs, 64 tasks", "pairs", 64, *seconds},
		{"cached, 1 task", "cached", 1, *seconds},
		{"cached, 64 tasks", "cached", 64, *seconds},
		{fmt.Sprintf("%d locks held", *locks), "hold", *locks, holdSeconds},
		{"break to signal", "loss", losses, 0},
	} {
		all := make(map[string][]map[string]float64)
		for round := range *rounds {
			for i := range loads {
				l := loads[(i+round)%len(loads)] // each round begins with another
				if l.redis && kind.load != "pairs" || !l.cached && kind.load == "cached" {
					continue
				}
				all[l.name] = append(all[l.name], l.measure(t, kind.load, urls[l.redis], kind.number, kind.seconds))
			}
		}
		for _, l := range loads {
			if figures := all[l.name]; figures != nil {
				t.Logf("%-18s %-34s %s", kind.name, l.name, medians(figures))
			}
		}
	}
}

// measure runs the load once.
func (l load) measure(t *testing.T, kind, url string, number, seconds int) (figures map[string]float64) {
	t.Helper()
	args := append(slices.Clone(l.command[1:]), kind, url, strconv.Itoa(number), strconv.Itoa(seconds))
	cmd := exec.CommandContext(t.Context(), l.command[0], args...)
	var out, problems bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = l.dir, &out, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", l.name, err, problems.String())
	}
	if err := json.Unmarshal(out.Bytes(), &figures); err != nil {
		t.Fatalf("%s: %v: %s", l.name, err, out.String())
	}
	return figures
}

// medians returns the median of each figure over the rounds.
func medians(rounds []map[string]float64) string {
	var parts []string
	for name := range rounds[0] {
		var values []float64
		for _, r := range rounds {
			values = append(values, r[name])
		}
		slices.Sort(values)
		parts = append(parts, fmt.Sprintf("%s %.1f", name, values[len(values)/2]))
	}
	slices.Sort(parts)
	return strings.Join(parts, "  ")
}

// startRedis starts a server that syncs each write, as Holdfast does, until the test ends. It returns its URL.
func startRedis(t *testing.T) string {
	t.Helper()
	address := porttest.Free(t, 1)[0]
	port := address[strings.LastIndexByte(address, ':')+1:]
	cmd := exec.CommandContext(t.Context(), "redis-server", "--port", port, "--dir", t.TempDir(), "--appendonly", "yes",
		"--appendfsync", "always")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // it was interrupted
	stand.Eventually(t, "Redis answers", func() bool {
		return exec.CommandContext(t.Context(), "redis-cli", "-p", port, "ping").Run() == nil
	})
	return "redis://" + address
}
