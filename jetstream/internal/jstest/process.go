package jstest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// The test binary runs as another process if this names its role; dirEnv is its data directory.
const (
	roleEnv = "HOLDFAST_TEST_ROLE"
	dirEnv  = "HOLDFAST_TEST_DIR"
)

// Main runs the tests, or a role if the binary was started by [Command]. It returns the exit code.
func Main(m *testing.M, roles map[string]func(dir string) error) int {
	if role := os.Getenv(roleEnv); role != "" {
		if err := roles[role](os.Getenv(dirEnv)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	return m.Run()
}

// Command returns the process of a role.
func Command(role, dir string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"="+role, dirEnv+"="+dir)
	return cmd
}

// MustRun plays a role to its end and returns what it said.
func MustRun(tb testing.TB, role, dir string) string {
	tb.Helper()
	out, err := Command(role, dir).CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		tb.Fatal(err)
	}
	return string(out)
}
