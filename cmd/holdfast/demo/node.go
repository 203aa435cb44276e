package demo

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// node is a child process that runs this program as a node.
type node struct {
	cmd    *exec.Cmd
	lines  *bufio.Scanner
	errors bytes.Buffer
}

// startNode runs a node with this data directory, without the environment variables that set flags. It is killed at the
// end of ctx. The caller must call kill.
func startNode(ctx context.Context, dir string) (*node, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	n := &node{cmd: exec.CommandContext(ctx, self, "serve", "--listen", "127.0.0.1:0", "--http", "off", "--data", dir)}
	n.cmd.Env, n.cmd.Stderr = withoutSettings(os.Environ()), &n.errors
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	n.lines = bufio.NewScanner(out)
	return n, n.cmd.Start()
}

// withoutSettings returns the environment without the variables that stand for flags.
func withoutSettings(environment []string) (rest []string) {
	for _, variable := range environment {
		if !strings.HasPrefix(variable, "HOLDFAST_") && !strings.HasPrefix(variable, "NATS_") {
			rest = append(rest, variable)
		}
	}
	return rest
}

// ready waits until the node is ready and returns its address.
func (n *node) ready(ctx context.Context) (string, error) {
	for n.lines.Scan() {
		line := n.lines.Text()
		if i := strings.Index(line, "nats://"); i >= 0 && strings.Contains(line, "ready") {
			return strings.Fields(line[i:])[0], nil
		}
	}
	_ = n.cmd.Wait() // errors is complete then
	if ctx.Err() != nil {
		return "", fmt.Errorf("waiting for the node: %w", context.Cause(ctx))
	}
	return "", fmt.Errorf("the node has ended: %s", strings.TrimSpace(n.errors.String()))
}

// kill ends the process, and returns when it has ended.
func (n *node) kill() {
	_ = n.cmd.Process.Kill() // it may have ended
	_ = n.cmd.Wait()
}
