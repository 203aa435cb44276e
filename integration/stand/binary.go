package stand

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

func build() {
	if binary.dir, binary.err = os.MkdirTemp("", "holdfast-"); binary.err != nil {
		return
	}
	cmd := exec.Command("go", "build", "-buildvcs=false", "-ldflags", "-X github.com/holdfast-io/holdfast/cmd/holdfast/internal/commands.version=v0.0.0-test",
		"-o", filepath.Join(binary.dir, "holdfast"), "github.com/holdfast-io/holdfast/cmd/holdfast")
	if out, err := cmd.CombinedOutput(); err != nil {
		binary.err = fmt.Errorf("build holdfast: %w\n%s", err, out)
	}
}
