package mutants_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	find   = flag.Bool("mutants.find", false, "run the suites against every mutant; takes minutes")
	first  = flag.Int("mutants.first", 0, "how many mutants of the list have their turn last")
	within = flag.Duration("mutants.for", 0, "how long mutants are begun; 0: until each had its turn")
	keep   = flag.String("mutants.output", "", "keep the output of each suite in this folder")
)

// A mutant that no longer applies or compiles tests nothing. Mutants of other files are compiled together, and only
// where that fails one by one.
func TestMutantsCompile(t *testing.T) {
	for _, group := range groups(mutants) {
		if output, err := compile(t, group); err == nil {
			continue
		} else if len(group) == 1 {
			t.Errorf("%s: %v\n%s", group[0].name, err, output)
			continue
		}
		for _, m := range group {
			if output, err := compile(t, []mutant{m}); err != nil {
				t.Errorf("%s: %v\n%s", m.name, err, output)
			}
		}
	}
}

// Each mutant is found by its suite, which without it passes.
func TestMutantsAreFound(t *testing.T) {
	if !*find {
		t.Skip("it takes minutes: make mutants")
	}
	healthy := make(map[string]bool)
	next, started := *first%len(mutants), time.Now()
	for _, m := range append(slices.Clone(mutants[next:]), mutants[:next]...) {
		if *within > 0 && time.Since(started) > *within {
			break
		}
		t.Run(m.name, func(t *testing.T) {
			texts := m.texts(t)
			if key := fmt.Sprint(m.found); !healthy[key] {
				if output, err := m.found.test(t, nil); err != nil || empty.Match(output) {
					t.Fatalf("the suite fails without the mutant, or has no test: %v\n%s", err, output)
				}
				healthy[key] = true
			}
			begun := time.Now()
			output, err := m.found.test(t, texts)
			if *keep != "" {
				write(t, *keep+"/"+m.name+".txt", output)
			}
			var exit *exec.ExitError
			switch {
			case err == nil:
				t.Errorf("not found: %s\n%s", m.harm, output)
			case !errors.As(err, &exit), !failed.Match(output):
				t.Errorf("the suite did not run: %v\n%s", err, output)
			case m.sentence(output) == "":
				t.Errorf("the suite fails for another reason than %q:\n%s", m.says, output)
			default:
				t.Logf("found by %s in %.0f s: %s", m.found.place(), time.Since(begun).Seconds(), m.sentence(output))
			}
		})
	}
}

// empty is how Go or Node.js says that no test has the name.
var empty = regexp.MustCompile(`(?m)\[no tests to run\]|^# pass 0$`)

// failed is how Go, pytest, Node.js or Surefire says that a test has failed, and not its build.
var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: |^panic: |^fatal error: |^FAILED |^not ok |^\[ERROR\] .*<<< (?:FAILURE|ERROR)!`)

// sentence is the first line by which the suite shows that it has found this mutant and nothing else.
func (m mutant) sentence(output []byte) string {
	return strings.TrimSpace(string(regexp.MustCompile("(?m)^.*(?:" + m.says + ").*$").Find(output)))
}

// place says where the suite is.
func (s suite) place() string {
	switch {
	case s.client != "" && s.module == "" && s.folder != "":
		return filepath.Join(languages[s.client].folder, s.folder)
	case s.client != "" && s.module == "":
		return "the conformance cases of " + s.client
	}
	return filepath.Join(s.module, s.folder)
}

// test runs the suite on the product, of which these files have other texts.
func (s suite) test(t *testing.T, texts map[string]string) ([]byte, error) {
	t.Helper()
	switch {
	case s.client != "":
		return s.testClient(t, texts)
	case len(texts) == 0:
		return s.testGo(t, "")
	default:
		return s.testGo(t, overlay(t, texts))
	}
}

// testGo runs tests of a package, built with the overlay.
func (s suite) testGo(t *testing.T, overlay string) ([]byte, error) {
	t.Helper()
	args := []string{"test", "-count=1", "-timeout=10m", "-run", s.run, "./" + s.folder}
	if len(s.args) > 0 {
		args = append(append(args, "-args"), s.args...)
	}
	return goTool(t, s.module, overlay, args...)
}

// goTool runs go in a module of the repository. The overlay goes by the environment, because suites build the
// binary themselves.
func goTool(t *testing.T, module, overlay string, args ...string) ([]byte, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = filepath.Join(root, module)
	if overlay != "" {
		cmd.Env = append(os.Environ(), "GOFLAGS=-overlay="+overlay)
	}
	return cmd.CombinedOutput()
}
