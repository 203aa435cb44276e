package display

import (
	"strings"
	"testing"
)

// The bar is one line of the terminal, however narrow that is.
func TestBar(t *testing.T) {
	for columns, want := range map[int]string{
		200: "[" + strings.Repeat("=", 10) + strings.Repeat(" ", 30) + "]  25%  4 pairs, 2/s",
		40:  "[====              ]  25%  4 pairs, 2/s",
		24:  "25%  4 pairs, 2/s",
	} {
		if got := Bar(0.25, "4 pairs, 2/s", columns); got != want {
			t.Errorf("%d columns: %q, want %q", columns, got, want)
		}
	}
}
