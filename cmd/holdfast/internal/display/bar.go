package display

import (
	"fmt"
	"strings"
)

// ClearLine is the control sequence that clears the rest of the line.
const ClearLine = "\x1b[K"

// Bar returns a progress bar with a text behind it: one line, at most as wide as the terminal's columns. share is how
// much is done, from 0 to 1.
func Bar(share float64, text string, columns int) string {
	share = min(share, 1)
	line := fmt.Sprintf(" %3.0f%%  %s", 100*share, text)
	cells := min(columns-len(line)-3, 40)
	if cells < 5 {
		return strings.TrimSpace(line)
	}
	done := int(share * float64(cells))
	return "[" + strings.Repeat("=", done) + strings.Repeat(" ", cells-done) + "]" + line
}
