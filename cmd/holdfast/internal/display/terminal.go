package display

import (
	"io"
	"os"
)

// Size is the size of a terminal; zero for other outputs.
type Size struct{ Columns, Rows int }

// SizeOf returns the size of the terminal that w writes to.
func SizeOf(w io.Writer) Size {
	file, ok := w.(*os.File)
	if !ok {
		return Size{}
	}
	return terminalSize(file)
}

// Control sequences of xterm, which other terminals share.
const (
	EnterScreen = "\x1b[?1049h\x1b[?25l" // the alternate screen, without a cursor
	LeaveScreen = "\x1b[?25h\x1b[?1049l"
	ToTop       = "\x1b[H"
	ClearBelow  = "\x1b[J"
)
