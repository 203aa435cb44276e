//go:build linux

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// namespace is a thread of this process in a network namespace and a mount namespace of its own. Sockets, devices,
// mounts and processes that are made on it belong there. Nothing has a name, so nothing is left behind: when the
// thread ends, or this process in whatever way, the kernel kills the processes and removes the rest.
type namespace struct {
	thread int
	calls  chan func()
	done   chan struct{}
}

// newThread returns a thread in this process's own namespace, which still kills its processes.
func newThread() (*namespace, error) {
	return startThread(func() error { return nil })
}

// newNamespace needs root. No other process can copy a mount that is made there: a copy keeps a file system alive
// after it has been unmounted. What is unmounted outside is unmounted there, too, for the same reason.
func newNamespace() (*namespace, error) {
	return startThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWNS); err != nil {
			return fmt.Errorf("a namespace for the network and the mounts: %w", err)
		}
		if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("separate the mounts of a namespace: %w", err)
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
	n.thread = unix.Gettid()
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

// path returns where this process finds what is at path for those inside.
func (n *namespace) path(path string) string {
	return filepath.Join("/proc/self/task", strconv.Itoa(n.thread), "root", path)
}

// close ends the thread.
func (n *namespace) close() {
	close(n.calls)
	<-n.done
}
