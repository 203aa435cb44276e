//go:build unix

package fencefile

import "syscall"

// noFollow has a file opened only if it is no symbolic link.
const noFollow = syscall.O_NOFOLLOW
