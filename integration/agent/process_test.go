package agent_test

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// process is a process by its id and its start time, because ids are used again.
type process struct {
	pid  int
	born string
}

// processOf returns the process that has this id now.
func processOf(pid int) process { return process{pid, stat(pid, statBorn)} }

// state returns the letter of /proc for the state; empty if the process is gone.
func (p process) state() string {
	if p.born == "" || stat(p.pid, statBorn) != p.born {
		return ""
	}
	return stat(p.pid, statState)
}

func (p process) hasEnded() bool { return p.state() == "" || p.state() == "Z" || p.state() == "X" }

// signal sends a signal to the process, if it is there.
func (p process) signal(t *testing.T, s unix.Signal) {
	t.Helper()
	if p.hasEnded() {
		return
	}
	if err := known(unix.Kill(p.pid, s)); err != nil {
		t.Error(err)
	}
}

// known returns nil for the error that a process has ended.
func known(err error) error {
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// awaitEnd returns when the process has ended.
func (p process) awaitEnd() error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return known(err)
	}
	defer func() { _ = unix.Close(fd) }()
	for !p.hasEnded() {
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
	return nil
}

// family returns the process and its children.
func (p process) family() ([]process, error) {
	family := []process{p}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && stat(pid, statParent) == strconv.Itoa(p.pid) {
			family = append(family, processOf(pid))
		}
	}
	return family, nil
}

// The fields of /proc/PID/stat behind the name of the program.
const (
	statState  = 0
	statParent = 1
	statBorn   = 19
)

// stat returns a field of the process with this id, empty if there is none.
func stat(pid, field int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) <= field {
		return ""
	}
	return fields[field]
}
