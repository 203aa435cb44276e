//go:build unix && !linux

package lock

import "syscall"

// descendants is empty: only Linux can list the descendants that have left the process group.
type descendants struct{}

// process is a descendant.
type process struct{ pid int }

func newDescendants() *descendants { return &descendants{} }

func (*descendants) signalOrphans(int, ...syscall.Signal) {}

func (*descendants) kill() {}

func (*descendants) remaining() []process { return nil }
