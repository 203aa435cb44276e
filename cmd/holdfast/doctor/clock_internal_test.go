package doctor

import (
	"strings"
	"testing"
)

// No system on which the tests run lacks the clock.
func TestClockThatStands(t *testing.T) {
	for counts, want := range map[bool]State{true: OK, false: Warning} {
		r := Result{State: OK}
		clockOf(&r, counts, "plan9")
		if r.State != want || !strings.Contains(r.Text, "plan9") || (len(r.Findings) > 0) != (want == Warning) {
			t.Errorf("%+v", r)
		}
	}
}
