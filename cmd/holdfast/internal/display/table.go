package display

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Column is a column of a table. Its cells are safe to show.
type Column struct {
	Cells []string // the header first
	// Right aligns the cells to the right, for numbers.
	Right bool
}

// Table aligns columns by the cells of a terminal, unlike text/tabwriter: Chinese characters and emoji are two
// cells wide.
type Table []Column

// gap separates two columns.
const gap = "  "

// Add appends a row with one cell for each column.
func (t Table) Add(row []string) {
	for c := range t {
		t[c].Cells = append(t[c].Cells, row[c])
	}
}

// Text returns the table with its headers, at most columns wide; 0: no bound.
func (t Table) Text(columns int) string {
	widths := t.widths(columns)
	var b strings.Builder
	for row := range t[0].Cells {
		for c := range t {
			cell := Shorten(t[c].Cells[row], widths[c])
			pad := strings.Repeat(" ", widths[c]-Width(cell))
			if c > 0 {
				b.WriteString(gap)
			}
			if t[c].Right {
				b.WriteString(pad + cell)
			} else {
				b.WriteString(cell + pad)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// widths returns the width of each column. If not all fit, the first two, which are names, share the rest: neither
// gets more than half, unless the other needs less.
func (t Table) widths(columns int) []int {
	widths := make([]int, len(t))
	total := len(gap) * (len(t) - 1)
	for c := range t {
		for _, cell := range t[c].Cells {
			widths[c] = max(widths[c], Width(cell))
		}
		total += widths[c]
	}
	if columns <= 0 || total <= columns {
		return widths
	}
	const minName = 8 // a line that is too long is better than a shorter name
	share := max(columns-(total-widths[0]-widths[1]), 2*minName)
	half := share / 2
	switch {
	case widths[1] <= half:
		widths[0] = share - widths[1]
	case widths[0] <= half:
		widths[1] = share - widths[0]
	default:
		widths[0], widths[1] = share-half, half
	}
	return widths
}

const ellipsis = "…"

// Shorten returns the text in at most the given number of cells. It omits the middle, since names differ at their
// ends.
func Shorten(text string, most int) string {
	if Width(text) <= most {
		return text
	}
	tail := (most - 1) / 2
	return head(text, most-1-tail) + ellipsis + end(text, tail)
}

// head returns the longest beginning of the text that fits.
func head(text string, most int) string {
	used := 0
	for i, r := range text {
		if used += cellsOfRune(r); used > most {
			return text[:i]
		}
	}
	return text
}

// end returns the longest end of the text that fits.
func end(text string, most int) string {
	at, used := len(text), 0
	for at > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:at])
		if used += cellsOfRune(r); used > most {
			break
		}
		at -= size
	}
	return text[at:]
}

// Width returns the number of terminal cells of the text.
func Width(text string) int {
	n := 0
	for _, r := range text {
		n += cellsOfRune(r)
	}
	return n
}

func cellsOfRune(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}
