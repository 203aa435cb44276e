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
	if built, err = build(p.dir, flags...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return run()
}

// build builds holdfast in the directory, with more flags of go build, and returns where it is.
func build(dir string, flags ...string) (string, error) {
	path := filepath.Join(dir, "holdfast")
	args := append([]string{"build", "-buildvcs=false", "-o", path}, flags...)
	out, err := exec.Command("go", append(args, "github.com/holdfast-io/holdfast/cmd/holdfast")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build holdfast: %w\n%s", err, out)
	}
	return path, nil
}
