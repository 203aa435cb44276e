package cli

import (
	"slices"
	"strings"
)

// Nearest returns the candidate that name most likely misspells: the only one with name as its prefix, else the
// nearest of those at most two edits away.
func Nearest(name string, candidates []string) (string, bool) {
	longer := slices.DeleteFunc(slices.Clone(candidates), func(c string) bool { return !strings.HasPrefix(c, name) })
	if len(longer) == 1 && name != "" {
		return longer[0], true
	}
	best, distance := "", 3
	for _, c := range candidates {
		if d := edits(name, c); d < distance && d < len(name) {
			best, distance = c, d
		}
	}
	return best, best != ""
}

// edits returns the edit distance of a and b in bytes.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
