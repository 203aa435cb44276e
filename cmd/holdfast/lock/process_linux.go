package lock

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// process identifies a process as /proc shows it. The system reuses process ids; the id and the start time together
// are unique.
type process struct {
	pid, parent, group int
	born               uint64 // in clock ticks since the start of the system
}

// readProcesses returns all processes that are visible in /proc. It returns none without /proc.
func readProcesses() []process {
	entries, _ := os.ReadDir("/proc")
	all := make([]process, 0, len(entries))
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			if r, ok := readProcess(pid); ok {
				all = append(all, r)
			}
		}
	}
	return all
}

// The fields of /proc/PID/stat after the name, counted from the state: see proc(5).
const (
	statState   = 0
	statParent  = 1
	statGroup   = 2
	statThreads = 17
	statBorn    = 19
)

// readProcess returns not ok if the process has ended, or is a zombie.
func readProcess(pid int) (process, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]) // the name may contain spaces and parentheses
	if len(fields) <= statBorn || isZombie(fields) {
		return process{}, false
	}
	r := process{pid: pid}
	r.parent, _ = strconv.Atoi(string(fields[statParent]))
	r.group, _ = strconv.Atoi(string(fields[statGroup]))
	r.born, _ = strconv.ParseUint(string(fields[statBorn]), 10, 64)
	return r, true
}

// isZombie reports whether the process has ended. A process whose first thread has ended has the same state,
// but more than one thread.
func isZombie(fields [][]byte) bool {
	state := string(fields[statState])
	return state == "X" || state == "Z" && string(fields[statThreads]) == "1"
}

// signal sends the signal to this process, and never to a later one with the same id. A process that has ended
// or that belongs to another user is not an error.
func (r process) signal(s syscall.Signal) {
	fd, err := unix.PidfdOpen(r.pid, 0)
	if err == nil {
		defer func() { _ = unix.Close(fd) }()
	} else if !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM) {
		return
	}
	if now, ok := readProcess(r.pid); !ok || now.born != r.born {
		return
	}
	if err == nil {
		_ = unix.PidfdSendSignal(fd, s, nil, 0)
		return
	}
	_ = unix.Kill(r.pid, s) // the kernel or the sandbox has no pidfd
}
