package display

import (
	"io"
	"os"
)

// Size is that of a terminal; 0 by 0 if it is none.
type Size struct{ Columns, Rows int }

// SizeOf returns the size of the terminal that w writes to.
func SizeOf(w io.Writer) Size {
	file, ok := w.(*os.File)
	if !ok {
		return Size{}
	}
	return terminalSize(file)
}

// What terminals obey, as they all do since xterm.
const (
	EnterScreen = "\x1b[?1049h\x1b[?25l" // another screen than that of the shell, without a cursor
	LeaveScreen = "\x1b[?25h\x1b[?1049l"
	ToTop       = "\x1b[H"
	ClearBelow  = "\x1b[J"
)
