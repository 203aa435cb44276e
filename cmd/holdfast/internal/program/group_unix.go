//go:build unix && !linux

package program

import "syscall"

// OwnGroup starts a program in a new process group. The program survives the death of this process: only Linux can
// prevent that.
func OwnGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
