package display

import "strconv"

// Plural returns the number with what there is of it: 1 with one, every other number with many.
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// Count is [Plural] for a noun whose plural ends with s: 1 node, 3 nodes.
func Count(n int, noun string) string { return Plural(n, noun, noun+"s") }
