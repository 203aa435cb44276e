package mutants_test

import (
	"errors"
	"flag"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var simulate = flag.Duration("mutants.simulate", 0, "try the simulation with each mutant for this long; 0: do not")

// simulation is the package whose trials are to find what mutants do to a deployment.
const simulation = "./integration/simulation"

// The trials of the simulation find most mutants of what they run, whatever suite is named for them. This counts those.
func TestMutantsAreSimulated(t *testing.T) {
	if *simulate == 0 {
		t.Skip("it takes hours: make mutants-simulated")
	}
	runs := dependencies(t)
	var found, all atomic.Int32
	t.Run("each", func(t *testing.T) {
		for _, m := range mutants {
			if !m.within(runs) {
				continue
			}
			t.Run(m.name, func(t *testing.T) {
				all.Add(1)
				t.Parallel()
				if m.simulated(t) {
					found.Add(1)
				}
			})
		}
	})
	t.Logf("the simulation finds %d of %d mutants of what it runs; the list has %d",
		found.Load(), all.Load(), len(mutants))
}

// dependencies returns the import paths of what the trials run.
func dependencies(t *testing.T) map[string]bool {
	t.Helper()
	output, err := goTool(t, "", "", "list", "-deps", "-test", simulation)
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	paths := make(map[string]bool)
	for path := range strings.FieldsSeq(string(output)) {
		paths[path] = true
	}
	return paths
}

// within reports whether all that the mutant changes is in one of the packages.
func (m mutant) within(packages map[string]bool) bool {
	for _, path := range m.packages() {
		if !packages[path] {
			return false
		}
	}
	return true
}

// simulated reports whether the simulation finds the mutant.
func (m mutant) simulated(t *testing.T) bool {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "simulation.test")
	if output, err := goTool(t, "", overlay(t, m.texts(t)), "test", "-c", "-o", binary, simulation); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	begun := time.Now()
	output, err := exec.CommandContext(t.Context(), binary, "-test.run=^TestTrials$", "-test.failfast", "-test.v",
		"-test.timeout="+(*simulate+5*time.Minute).String(), "-simulation.for="+simulate.String()).CombinedOutput()
	if *keep != "" {
		write(t, filepath.Join(*keep, m.name+".txt"), output)
	}
	var exit *exec.ExitError
	switch tries := len(begins.FindAll(output, -1)); {
	case err == nil:
		t.Logf("not found in %d trials: %s", tries, m.harm)
		return false
	case !errors.As(err, &exit), !failed.Match(output):
		t.Errorf("the simulation did not run: %v\n%s", err, output)
		return false
	default:
		t.Logf("found in %.0f s, by trial %d: %s", time.Since(begun).Seconds(), tries, reason(output))
		return true
	}
}

var (
	// begins is how Go says that a trial begins; wrong are lines that say what is wrong, heading what comes before those
	// of a history.
	begins  = regexp.MustCompile(`(?m)^=== RUN   TestTrials/seed_\d+$`)
	wrong   = regexp.MustCompile(`(?m)^\s*simulation_test\.go:.*$|^panic: .*$|^fatal error: .*$`)
	heading = regexp.MustCompile(`history refused: \d+ violations?:\n.*`)
)

// reason returns what the simulation says first that is wrong.
func reason(output []byte) []byte {
	line := wrong.Find(output)
	if heading.Match(append(line, "\n"...)) {
		return heading.Find(output)
	}
	return line
}
