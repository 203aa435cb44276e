//go:build unix && !linux

package lock

import "syscall"

// ownGroup puts the command in a group of its own. If we are killed, it lives on: only Linux has a way
// to prevent that.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// family would be every process that the command has started. Only Linux shows those that leave its group.
type family struct{}

// relative is a process of the family.
type relative struct{ pid int }

func newFamily() *family { return &family{} }

func (*family) tell(int, ...syscall.Signal) {}

func (*family) kill() {}

func (*family) left() []relative { return nil }
