//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

func terminalSize(file *os.File) size {
	w, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return size{}
	}
	return size{columns: int(w.Col), rows: int(w.Row)}
}
