package lock

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownGroup puts the command in a group of its own, and has the kernel kill it should we be killed.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// family is every process below this one. A process that leaves its group, or whose parent has ended, stays
// in it: the kernel gives its orphans to the nearest subreaper, which is this process.
type family struct {
	self int
	// others are the children that this process had before the command, as after an exec in a shell. They
	// are not the command's.
	others map[int]uint64
	// told are the orphans that have had a signal from tell.
	told map[int]uint64
}

// newFamily is called before the command starts. Without /proc, or on a kernel without subreapers, only the
// command's group is reached.
func newFamily() *family {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	f := &family{self: os.Getpid(), others: make(map[int]uint64), told: make(map[int]uint64)}
	for _, r := range f.members() {
		if r.parent == f.self {
			f.others[r.pid] = r.born
		}
	}
	return f
}

// members returns the processes below this one that have not ended, but for those of others.
func (f *family) members() []relative {
	children := make(map[int][]relative)
	for _, r := range readProcesses() {
		children[r.parent] = append(children[r.parent], r)
	}
	var members []relative
	for generation := children[f.self]; len(generation) > 0; {
		var next []relative
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

// tell sends the signal once to each orphan that is in another group than this one. All others have a
// parent that may pass on what it gets itself.
func (f *family) tell(group int, signals ...syscall.Signal) {
	for _, r := range f.members() {
		if r.parent != f.self || r.group == group || f.told[r.pid] == r.born {
			continue
		}
		f.told[r.pid] = r.born
		for _, s := range signals {
			r.signal(s)
		}
	}
}

// mostRounds bounds how often kill looks for what was started while it looked.
const mostRounds = 10

// kill kills all members, and what they start meanwhile. It does not wait for their end.
func (f *family) kill() {
	killed := make(map[int]uint64)
	for range mostRounds {
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

// left returns the members that have not ended. That there are none is certain if this process has no child
// at all; else it takes two looks, since a process may be started or change its parent during one.
func (f *family) left() []relative {
	_, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
	if errors.Is(err, unix.ECHILD) {
		return nil
	}
	if members := f.members(); len(members) > 0 {
		return members
	}
	return f.members()
}
