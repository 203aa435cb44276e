//go:build unix && !linux

package lock

import "syscall"

// ownGroup starts the command in a new process group. The command survives the death of this process: only
// Linux can prevent that.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// family is empty: only Linux can list the descendants that have left the process group.
type family struct{}

// relative is a member of the family.
type relative struct{ pid int }

func newFamily() *family { return &family{} }

func (*family) tell(int, ...syscall.Signal) {}

func (*family) kill() {}

func (*family) left() []relative { return nil }
