//go:build unix

package display

import (
	"os"

	"golang.org/x/sys/unix"
)

func columnsOf(file *os.File) int {
	w, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(w.Col)
}
