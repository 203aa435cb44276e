package main

import (
	"io"
	"os"
)

// size is that of a terminal; 0 by 0 if it is none.
type size struct{ columns, rows int }

// sizeOf returns the size of the terminal that w writes to.
func sizeOf(w io.Writer) size {
	file, ok := w.(*os.File)
	if !ok {
		return size{}
	}
	return terminalSize(file)
}

// What terminals obey, as they all do since xterm.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l" // another screen than that of the shell, without a cursor
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	toTop       = "\x1b[H"
	clearBelow  = "\x1b[J"
)
