package display

import (
	"io"
	"os"
)

// Columns returns the width of the terminal that w writes to; 0 for other outputs.
func Columns(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok {
		return 0
	}
	return columnsOf(file)
}
