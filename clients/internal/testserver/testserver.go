// Package testserver runs a node for the tests and examples of the client packages, as a process.
//
// The module of the clients does not require the module of the server, so these tests cannot start a node
// in their own process. They build the holdfast command of the repository that they are part of.
package testserver

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"syscall"
	"testing"
)

// address is in the line by which a node announces where clients find it.
var address = regexp.MustCompile(`nats://[0-9.]+:[0-9]+`)

// Binary is the path of a holdfast command.
type Binary string

// Build builds the holdfast command of the repository. The file is removed when tb ends.
func Build(tb testing.TB) Binary {
	tb.Helper()
	binary := filepath.Join(tb.TempDir(), "holdfast")
	_, self, _, _ := runtime.Caller(0)
	repository := filepath.Join(filepath.Dir(self), "..", "..", "..")
	build := exec.Command("go", "build", "-C", repository, "-buildvcs=false", "-o", binary, "./cmd/holdfast")
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("build holdfast, which needs the repository around the module of these tests: %v\n%s", err, out)
	}
	return Binary(binary)
}

// Start starts a node with an empty store, and returns the URL of its NATS server when it is ready. The
// node stops when tb ends.
func (b Binary) Start(tb testing.TB) (url string) {
	tb.Helper()
	dir := tb.TempDir()
	node := exec.Command(string(b), "serve", "--listen", "127.0.0.1:0", "--http", "off", "--data", dir)
	node.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")} // no settings of this process
	node.Stderr = os.Stderr
	out, err := node.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := node.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = node.Process.Signal(syscall.SIGTERM)
		_ = node.Wait()
	})
	lines := bufio.NewScanner(out)
	for url == "" && lines.Scan() {
		url = address.FindString(lines.Text())
	}
	if url == "" {
		tb.Fatalf("the node ended without an address: %v", lines.Err())
	}
	return url
}
