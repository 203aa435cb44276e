package main

import "syscall"

// ownGroup puts the command in a group of its own, and has the kernel kill it should we be killed.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
