//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// node is one node: where it lives, and the process that it is just now.
type node struct {
	name, host string
	// server: it is a server of NATS; service: it is a node of Holdfast. Most are both.
	server, service bool
	left            bool // the cluster for good
	dir             string
	thread          *namespace
	disk            *disk // nil if there is none that can be broken
	output          *output
	command         func() []string
	// hurt has room for one: whatever is done to the process or the disk is done by one at a time.
	hurt chan struct{}

	mu      sync.Mutex
	process *process // nil while it is meant to be down
}

func (n *node) address() string { return n.host + ":4222" }

// route is where other servers of NATS reach it.
func (n *node) route() string { return n.host + ":6222" }

// data is where the node stores.
func (n *node) data() string {
	if n.disk != nil {
		return filepath.Join(n.disk.mountpoint, "data")
	}
	return filepath.Join(n.dir, "data")
}

// files is data for this process.
func (n *node) files() string {
	if n.disk != nil {
		return filepath.Join(n.disk.dir, "data")
	}
	return n.data()
}

// start starts a process that is meant to go on until it is ended here.
func (n *node) start() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process != nil && !n.process.ended() {
		return fmt.Errorf("%s runs already", n.name)
	}
	args := n.command()
	_, _ = fmt.Fprintf(n.output, "--- %s: %q\n", n.name, args)
	p, err := startProcess(n.thread, n.dir, n.output, args[0], args[1:]...)
	n.process = p
	return err
}

// running returns the process; an error if there is none.
func (n *node) running() (*process, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.process == nil:
		return nil, fmt.Errorf("%s is down", n.name)
	case n.process.ended():
		return nil, fmt.Errorf("%w: %s: %v; it said last:\n%s", ErrEnded, n.name, n.process.cmd.ProcessState,
			n.output.tail(5))
	}
	return n.process, nil
}

// ErrEnded is why a cluster is not healthy when a process has ended by itself.
var ErrEnded = errors.New("a node has ended by itself")

// end ends the process, which must run, and returns its number. The node is down then.
func (n *node) end(ctx context.Context, s unix.Signal) (pid int, err error) {
	p, err := n.running()
	if err != nil {
		return 0, err
	}
	if err := p.end(ctx, s); err != nil {
		return 0, fmt.Errorf("%s: %w", n.name, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.process = nil
	return p.pid, nil
}

// gone reports whether there is no process of this number. One that was killed and waited for is gone.
func gone(pid int) bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

// restart starts the node again, after ending its process if there is still one.
func (n *node) restart(ctx context.Context) error {
	n.mu.Lock()
	p := n.process
	n.mu.Unlock()
	if p != nil && !p.ended() {
		if _, err := n.end(ctx, unix.SIGKILL); err != nil {
			return err
		}
	}
	return n.start()
}

// close ends and removes all of it but the directory.
func (n *node) close(ctx context.Context) error {
	var err error
	n.mu.Lock()
	p := n.process
	n.process = nil
	n.mu.Unlock()
	if p != nil && !p.ended() {
		err = p.end(ctx, unix.SIGKILL)
	}
	if n.disk != nil {
		err = errors.Join(err, n.disk.unmount(ctx))
	}
	n.thread.close()
	return err
}

// occupy waits until no other fault hurts the node.
func (n *node) occupy(ctx context.Context) error {
	select {
	case n.hurt <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s is in the hands of another fault: %w", n.name, ctx.Err())
	}
}

func (n *node) vacate() { <-n.hurt }

func makeDir(path string) error { return os.MkdirAll(path, 0o700) }
