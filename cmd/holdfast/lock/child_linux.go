package lock

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// descendants are all processes below this one. A process that changes its group or loses its parent
// stays a member: the kernel assigns orphans to the nearest subreaper, which is this process.
type descendants struct {
	self int
	// others are the children that existed before the command, for example after an exec in a shell. They
	// are not descendants of the command.
	others map[int]uint64
	// signalled are the orphans that signalOrphans has signalled.
	signalled map[int]uint64
}

// newDescendants makes this process a subreaper. It is called before the command starts. Without /proc or without
// subreapers, signals reach the process group of the command only.
func newDescendants() *descendants {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // mutant: NoSubreaper
	f := &descendants{self: os.Getpid(), others: make(map[int]uint64), signalled: make(map[int]uint64)}
	for _, r := range f.members() {
		if r.parent == f.self {
			f.others[r.pid] = r.born
		}
	}
	return f
}

// members returns the descendants that have not ended, without others and their descendants.
func (f *descendants) members() []process {
	children := make(map[int][]process)
	for _, r := range readProcesses() {
		children[r.parent] = append(children[r.parent], r)
	}
	var members []process
	for generation := children[f.self]; len(generation) > 0; {
		var next []process
		for _, r := range generation {
			if born, is := f.others[r.pid]; is && born == r.born {
				continue
			}
			members = append(members, r)
			next = append(next, children[r.pid]...)
		}
		generation = next
	}
	return members
}

// signalOrphans sends the signals once to each orphan outside of the group. A process that is not an orphan has a
// parent, which may forward the signal itself.
func (f *descendants) signalOrphans(group int, signals ...syscall.Signal) {
	for _, r := range f.members() {
		if r.parent != f.self || r.group == group || f.signalled[r.pid] == r.born {
			continue
		}
		f.signalled[r.pid] = r.born
		for _, s := range signals {
			r.signal(s)
		}
	}
}

// maxPasses limits the passes of kill. Processes can start new ones during a pass.
const maxPasses = 10

// kill sends SIGKILL to all members, also to those started meanwhile. It does not wait for their end.
func (f *descendants) kill() {
	killed := make(map[int]uint64)
	for range maxPasses {
		fresh := false
		for _, r := range f.members() {
			if killed[r.pid] != r.born {
				killed[r.pid], fresh = r.born, true
				r.signal(syscall.SIGKILL)
			}
		}
		if !fresh {
			return
		}
	}
}

// remaining returns the members that have not ended. If this process has no child, there are none. Otherwise one
// reading of /proc is not enough: a process may start or change its parent during it.
func (f *descendants) remaining() []process {
	_, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
	if errors.Is(err, unix.ECHILD) {
		return nil
	}
	if members := f.members(); len(members) > 0 {
		return members
	}
	return f.members()
}
