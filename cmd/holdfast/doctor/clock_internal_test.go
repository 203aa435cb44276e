package doctor

import (
	"math"
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

// A node is named if its clock differs by more than a second from that of another one, however much it says.
func TestClocksApart(t *testing.T) {
	for seconds, want := range map[float64]string{
		0: "", 1: "", -1: "",
		1.25:            "n1 is 1.2s ahead of n2",
		-90:             "n1 is 1m30s behind n2",
		math.MaxFloat64: "n1 is 277777h46m ahead of n2",
	} {
		r := Result{State: OK}
		compareClocks(&r, map[string]*NodeStats{"n1": {Clock: &Clock{Node: "n2", Seconds: seconds}}, "n3": {}})
		if want == "" {
			if len(r.Findings) > 0 {
				t.Errorf("%g: %+v", seconds, r)
			}
			continue
		}
		if len(r.Findings) != 1 || r.Findings[0].What != "the clocks of nodes are apart: "+want || r.State != Warning {
			t.Errorf("%g: %+v, want %q", seconds, r, want)
		}
	}
}
