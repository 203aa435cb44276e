package stand

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// binary is holdfast as users have it, once it has been built.
var binary struct {
	once sync.Once
	dir  string
	err  error
}

// Main runs the tests and removes what [Binary] has built. It is for TestMain, and returns the exit code.
func Main(m *testing.M) int {
	defer func() {
		if binary.dir != "" {
			_ = os.RemoveAll(binary.dir)
		}
	}()
	return m.Run()
}

// Binary returns the path of the holdfast binary, and builds it for the first test that asks.
func Binary(tb testing.TB) string {
	tb.Helper()
	binary.once.Do(build)
	if binary.err != nil {
		tb.Fatal(binary.err)
	}
	return filepath.Join(binary.dir, "holdfast")
}

// BinaryAt builds the binary as it was at a commit, and returns its path. It skips the test where the history of the
// repository does not reach the commit: in a shallow clone, and outside of one.
func BinaryAt(tb testing.TB, commit string) string {
	tb.Helper()
	dir := tb.TempDir()
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/holdfast-io/holdfast").Output()
	if err != nil {
		tb.Fatal(err)
	}
	// A clone may belong to another user than the tests run as.
	git := func(args ...string) *exec.Cmd {
		return exec.Command("git", append([]string{"-c", "safe.directory=*", "-C", strings.TrimSpace(string(root))},
			args...)...)
	}
	if out, err := git("cat-file", "-e", commit+"^{commit}").CombinedOutput(); err != nil {
		if shallow, err := git("rev-parse", "--is-shallow-repository").Output(); err == nil && string(shallow) == "false\n" {
			tb.Fatalf("the repository has no commit %s: %s", commit, out)
		}
		tb.Skipf("no history that reaches %s: %s", commit, out)
	}
	source, binary := filepath.Join(dir, "source.tar"), filepath.Join(dir, "holdfast")
	commands := []*exec.Cmd{git("archive", "--output", source, commit), exec.Command("tar", "-xf", source, "-C", dir)}
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", binary, "./cmd/holdfast")
	build.Dir = dir
	for _, cmd := range append(commands, build) {
		if out, err := cmd.CombinedOutput(); err != nil {
			tb.Fatalf("%s: %v\n%s", cmd, err, out)
		}
	}
	return binary
}

func build() {
	if binary.dir, binary.err = os.MkdirTemp("", "holdfast-"); binary.err != nil {
		return
	}
	cmd := exec.Command("go", "build", "-buildvcs=false", "-ldflags",
		"-X github.com/holdfast-io/holdfast/cmd/holdfast/internal/commands.version=v0.0.0-test",
		"-o", filepath.Join(binary.dir, "holdfast"), "github.com/holdfast-io/holdfast/cmd/holdfast")
	if out, err := cmd.CombinedOutput(); err != nil {
		binary.err = fmt.Errorf("build holdfast: %w\n%s", err, out)
	}
}
