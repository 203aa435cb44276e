//go:build unix && !linux

package main

import "syscall"

// ownGroup puts the command in a group of its own. If we are killed, it lives on: only Linux has a way
// to prevent that.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
