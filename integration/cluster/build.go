//go:build linux

package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// built is the binary that [Main] has built.
var built string

// Main builds holdfast as users have it, for all clusters of the process, and runs the tests: the only line
// of a TestMain is os.Exit(cluster.Main(m.Run)). Flags are those of go build.
func Main(run func() int, flags ...string) int {
	p, err := newPlace()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = p.remove() }()
	binary := filepath.Join(p.dir, "holdfast")
	if err := build(binary, "github.com/holdfast-io/holdfast/cmd/holdfast", flags...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	built = binary
	return run()
}

// build builds a program of a package, with more flags of go build.
func build(path, pkg string, flags ...string) error {
	args := append([]string{"build", "-buildvcs=false", "-o", path}, flags...)
	out, err := exec.Command("go", append(args, pkg)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return nil
}
