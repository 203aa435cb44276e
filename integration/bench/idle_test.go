package bench

import (
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// idleFor is how long the idle process is watched in an iteration.
const idleFor = 20 * time.Second

// BenchmarkIdle reports what a node with 8 shards costs that gets no requests. Run it with
// -benchtime=1x. It reads /proc, so it needs Linux.
func BenchmarkIdle(b *testing.B) {
	m := stand.StartAlone(b, "--shards", "8")
	for b.Loop() {
		before, start := m.CPU(), time.Now()
		<-time.After(idleFor)
		used := m.CPU() - before
		b.ReportMetric(100*used.Seconds()/time.Since(start).Seconds(), "%core")
		b.ReportMetric(float64(m.Resident())/1e6, "MB")
	}
}
