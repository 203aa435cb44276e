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
