package program

import "syscall"

// OwnGroup starts a program in a new process group. The kernel kills the program when the thread ends that started
// it, which is at the latest the end of this process.
func OwnGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
