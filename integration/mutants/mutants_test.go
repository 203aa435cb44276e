package mutants_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var (
	find = flag.Bool("mutants.find", false, "run the suites against every mutant; takes minutes")
	keep = flag.String("mutants.output", "", "keep the output of each suite in this folder")
)

// A mutant that no longer applies or compiles tests nothing.
func TestMutantsCompile(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			output, err := goTool(t, m.found.module, m.overlay(t), append([]string{"build", "-o", os.DevNull}, m.packages()...)...)
			if err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
		})
	}
}

// Each mutant is found by its suite, which without it passes.
func TestMutantsAreFound(t *testing.T) {
	if !*find {
		t.Skip("it takes minutes: make mutants")
	}
	healthy := make(map[string]bool)
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			overlay := m.overlay(t)
			if key := fmt.Sprint(m.found); !healthy[key] {
				if output, err := m.found.test(t, ""); err != nil || empty.Match(output) {
					t.Fatalf("the suite fails without the mutant, or has no test: %v\n%s", err, output)
				}
				healthy[key] = true
			}
			begun := time.Now()
			output, err := m.found.test(t, overlay)
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
				t.Logf("found by %s in %.0f s: %s", filepath.Join(m.found.module, m.found.folder), time.Since(begun).Seconds(), m.sentence(output))
			}
		})
	}
}

// empty is how Go says that no test has the name.
var empty = regexp.MustCompile(`\[no tests to run\]`)

// failed is how Go says that a test has failed, and not its build.
var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: |^panic: |^fatal error: `)

// sentence is the first line by which the suite shows that it has found this mutant and nothing else.
func (m mutant) sentence(output []byte) string {
	return strings.TrimSpace(string(regexp.MustCompile("(?m)^.*(?:" + m.says + ").*$").Find(output)))
}

// test runs the suite, on the product as the overlay has it.
func (s suite) test(t *testing.T, overlay string) ([]byte, error) {
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
