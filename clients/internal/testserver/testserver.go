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
	"strings"
	"syscall"
	"testing"
)

// address is in the line by which a node announces where clients find it.
var address = regexp.MustCompile(`nats://[0-9.]+:[0-9]+`)

// Binary is the path of a holdfast command.
type Binary string

// Build builds the holdfast command of the repository. The file is removed when tb ends. HOLDFAST_BINARY names one that
// was built before.
func Build(tb testing.TB) Binary {
	tb.Helper()
	if built := os.Getenv("HOLDFAST_BINARY"); built != "" {
		return Binary(built)
	}
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
	return b.Node(tb).URL
}

// Node is a node with a store of its own.
type Node struct {
	// URL is that of its NATS server. It stays the same when the node is started again.
	URL    string
	binary Binary
	dir    string
	cmd    *exec.Cmd
}

// Node starts a node with an empty store, and returns when it is ready. It stops when tb ends.
func (b Binary) Node(tb testing.TB) *Node {
	tb.Helper()
	n := &Node{binary: b, dir: tb.TempDir()}
	n.start(tb, "127.0.0.1:0")
	tb.Cleanup(func() {
		_ = n.cmd.Process.Signal(syscall.SIGTERM)
		_ = n.cmd.Wait()
	})
	return n
}

// Kill ends the node without a chance to write anything.
func (n *Node) Kill() {
	_ = n.cmd.Process.Kill()
	_ = n.cmd.Wait()
}

// Restart starts a node that was killed, with the same store and at the same address.
func (n *Node) Restart(tb testing.TB) {
	tb.Helper()
	n.start(tb, strings.TrimPrefix(n.URL, "nats://"))
}

func (n *Node) start(tb testing.TB, listen string) {
	tb.Helper()
	n.cmd = exec.Command(string(n.binary), "serve", "--listen", listen, "--http", "off", "--data", n.dir)
	n.cmd.Env = []string{"HOME=" + n.dir, "PATH=" + os.Getenv("PATH")} // no settings of this process
	n.cmd.Stderr = os.Stderr
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := n.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	n.URL = ""
	lines := bufio.NewScanner(out)
	for n.URL == "" && lines.Scan() {
		n.URL = address.FindString(lines.Text())
	}
	if n.URL == "" {
		tb.Fatalf("the node ended without an address: %v", lines.Err())
	}
}
