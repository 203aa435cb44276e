//go:build linux

package cluster

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// namespace is a thread of this process in a network namespace of its own. Sockets, devices and processes
// that are made on it belong there. Nothing has a name, so nothing is left behind: when the thread ends, or
// this process in whatever way, the kernel kills the processes and removes the rest.
type namespace struct {
	calls chan func()
	done  chan struct{}
}

// newThread returns a thread in this process's own namespace, which still kills its processes.
func newThread() (*namespace, error) {
	return startThread(func() error { return nil })
}

// newNamespace needs root.
func newNamespace() (*namespace, error) {
	return startThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("a network namespace: %w", err)
		}
		return nil
	})
}

func startThread(prepare func() error) (*namespace, error) {
	n := &namespace{calls: make(chan func()), done: make(chan struct{})}
	started := make(chan error)
	go n.run(prepare, started)
	return n, <-started
}

// run never unlocks its thread, so that the thread ends with it.
func (n *namespace) run(prepare func() error, started chan<- error) {
	runtime.LockOSThread()
	if unix.Gettid() == os.Getpid() { // the main thread would not end; another has to do it
		again := make(chan error)
		go n.run(prepare, again)
		started <- <-again
		runtime.UnlockOSThread()
		return
	}
	defer close(n.done)
	err := prepare()
	started <- err
	if err != nil {
		return
	}
	for call := range n.calls {
		call()
	}
}

// inside calls f on the thread, one at a time.
func (n *namespace) inside(f func() error) error {
	result := make(chan error, 1)
	n.calls <- func() { result <- f() }
	return <-result
}

// close ends the thread.
func (n *namespace) close() {
	close(n.calls)
	<-n.done
}
