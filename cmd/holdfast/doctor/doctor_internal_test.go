package doctor

import (
	"strings"
	"testing"
)

// The help says of each check what it finds, in lines that fit.
func TestHelpHasEachCheck(t *testing.T) {
	help := Help()
	for _, c := range checks {
		if c.finds == "" || !strings.Contains(help, "\n  "+c.name+" ") && !strings.HasPrefix(help, "  "+c.name+" ") {
			t.Errorf("the help does not say what %s finds", c.name)
		}
	}
	for line := range strings.Lines(help) {
		if len(line) > 87 {
			t.Errorf("%d characters: %s", len(line), line)
		}
	}
}
