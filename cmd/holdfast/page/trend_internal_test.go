package page

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/metrics"
)

// The samples are bounded, and the lines have the rates and the means between them.
func TestTrend(t *testing.T) {
	tr := newTrend(nil)
	begin := time.Unix(1_000_000, 0)
	for i := range 3 * mostSamples {
		n := uint64(i)
		tr.add(sample{begin.Add(time.Duration(i) * sampleEvery), metrics.Totals{
			Commits: 20 * n, CommitTime: time.Duration(20*n) * 3 * time.Millisecond,
		}})
	}
	if len(tr.samples) != mostSamples || tr.samples[mostSamples-1].Commits != 20*(3*mostSamples-1) {
		t.Fatalf("%d samples, the last %v", len(tr.samples), tr.samples[len(tr.samples)-1])
	}
	plots := tr.plots()
	for i, want := range []struct{ latest, most string }{{"10", "10"}, {"3.0 ms", "3.0 ms"}, {"none", ""}} {
		if p := plots[i]; p.Latest() != want.latest || p.Most() != want.most {
			t.Errorf("%s: %q, %q, want %v", p.Title, p.Latest(), p.Most(), want)
		}
	}
	if path := plots[0].Path(); strings.Count(path, "L") != mostSamples-2 || plots[2].Path() != "" {
		t.Errorf("the lines are %q and %q", path, plots[2].Path())
	}
}

// A line is interrupted where there is no value, and reaches from the top to the bottom.
func TestPath(t *testing.T) {
	var p plot
	p.add(4, true)
	p.add(0, true)
	p.add(0, false)
	p.add(2, true)
	if got, want := p.Path(), "M292.0 0.0h0L294.0 60.0h0M298.0 30.0h0"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
