package metrics_test

import (
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/metrics"
)

func TestTotals(t *testing.T) {
	m := metrics.New("v0.0.0")
	m.Committed(0, 2*time.Millisecond, 1)
	m.Committed(1, 3*time.Millisecond, 0)
	m.Waited(time.Second)
	want := metrics.Totals{Commits: 2, CommitTime: 5 * time.Millisecond, Waits: 1, WaitTime: time.Second}
	if got := m.Totals(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
