package bench

import (
	"strings"
	"testing"
	"time"
)

// The bar is one line of the terminal, however narrow that is.
func TestBar(t *testing.T) {
	for columns, want := range map[int]string{
		200: "[" + strings.Repeat("=", 10) + strings.Repeat(" ", 30) + "]  25%  4 pairs, 2/s",
		40:  "[====              ]  25%  4 pairs, 2/s",
		24:  "25%  4 pairs, 2/s",
	} {
		p := &progress{duration: 8 * time.Second, columns: columns}
		if got := p.bar(2*time.Second, "4 pairs, 2/s"); got != want {
			t.Errorf("%d columns: %q, want %q", columns, got, want)
		}
	}
}
