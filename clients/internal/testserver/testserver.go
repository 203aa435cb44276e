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
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-io/holdfast/messages/porttest"
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
	flags  []string
	cmd    *exec.Cmd
}

// Node starts a node with an empty store, and returns when it is ready. It stops when tb ends.
func (b Binary) Node(tb testing.TB) *Node {
	tb.Helper()
	n := &Node{binary: b, dir: tb.TempDir()}
	n.await(tb, n.start(tb, "127.0.0.1:0"))
	return n
}

// Cluster starts three nodes that store what they do three times, named n0 to n2, and returns when they are ready. They
// stop when tb ends.
func (b Binary) Cluster(tb testing.TB) (nodes [3]*Node) {
	tb.Helper()
	routes := porttest.Free(tb, len(nodes))
	var lines [len(nodes)]*bufio.Scanner
	for i := range nodes {
		nodes[i] = &Node{binary: b, dir: tb.TempDir(), flags: []string{"--name", "n" + strconv.Itoa(i), "--replicas", "3",
			"--cluster-listen", routes[i], "--routes", strings.Join(routes, ",")}}
		lines[i] = nodes[i].start(tb, "127.0.0.1:0")
	}
	for i, n := range nodes {
		n.await(tb, lines[i])
	}
	return nodes
}

// Kill ends the node without a chance to write anything.
func (n *Node) Kill() {
	_ = n.cmd.Process.Kill()
	_ = n.cmd.Wait()
}

// Restart starts a node that was killed, with the same store and at the same address.
func (n *Node) Restart(tb testing.TB) {
	tb.Helper()
	n.await(tb, n.start(tb, strings.TrimPrefix(n.URL, "nats://")))
}

// start starts the process, and returns what it says. The process ends with tb.
func (n *Node) start(tb testing.TB, listen string) *bufio.Scanner {
	tb.Helper()
	n.cmd = exec.Command(string(n.binary), append([]string{"serve", "--listen", listen, "--http", "off", "--data", n.dir},
		n.flags...)...)
	n.cmd.Env = []string{"HOME=" + n.dir, "PATH=" + os.Getenv("PATH")} // no settings of this process
	n.cmd.Stderr = os.Stderr
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := n.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	cmd := n.cmd
	tb.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	return bufio.NewScanner(out)
}

// await waits until the node says where clients find it.
func (n *Node) await(tb testing.TB, lines *bufio.Scanner) {
	tb.Helper()
	n.URL = ""
	for n.URL == "" && lines.Scan() {
		n.URL = address.FindString(lines.Text())
	}
	if n.URL == "" {
		tb.Fatalf("the node ended without an address: %v", lines.Err())
	}
}
