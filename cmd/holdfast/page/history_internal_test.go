package page

import (
	"strings"
	"testing"
)

// A history that is cut short gives the reason, unless it has what a shorter window had.
func TestCut(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reach string
		read  int
		want  string
	}{
		{"", 0, "The journals did not answer"},
		{"", 101, "Too many changes"},
		{"All changes of the last 10s", 0, "All changes of the last 10s"},
	} {
		h := history{Reach: test.reach, whole: true}
		h.cut(make([]change, test.read))
		if h.whole || !strings.HasPrefix(h.Reach, test.want) || len(h.Rows) != min(test.read, maxRows) {
			t.Errorf("%+v: %+v", test, h)
		}
	}
}
