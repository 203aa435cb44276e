//go:build unix

package display

import (
	"os"

	"golang.org/x/sys/unix"
)

func terminalSize(file *os.File) Size {
	w, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return Size{}
	}
	return Size{Columns: int(w.Col), Rows: int(w.Row)}
}
