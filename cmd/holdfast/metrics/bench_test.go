package metrics_test

import (
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/cmd/holdfast/metrics"
	"github.com/holdfast-io/holdfast/messages"
)

// What a node pays for each answer, each end of a lease and each commit.
func BenchmarkObserver(b *testing.B) {
	m := metrics.New("bench")
	for name, observe := range map[string]func(took time.Duration){
		"answer": func(took time.Duration) { m.Answered(messages.OpAcquire, took) },
		"end":    func(took time.Duration) { m.Ended(actors.EndReleased, took) },
		"commit": func(took time.Duration) { m.Committed(3, took, 64) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				observe(time.Duration(1+i%1000) * 10 * time.Microsecond)
			}
		})
	}
}
