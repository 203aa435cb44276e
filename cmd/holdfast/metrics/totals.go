package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Totals are sums since the start of the process.
type Totals struct {
	// Commits is how many commits JetStream has confirmed, and CommitTime how long that took, of all together.
	Commits    uint64
	CommitTime time.Duration
	// Waits is how many requests were granted after they had waited in a queue, and WaitTime for how long, of all together.
	Waits    uint64
	WaitTime time.Duration
}

// Totals returns the sums until now.
func (o *Observer) Totals() (t Totals) {
	t.Commits, t.CommitTime = sum(o.commits)
	t.Waits, t.WaitTime = sum(o.waits)
	return t
}

// sum returns the number and the sum of the durations in a histogram.
func sum(h prometheus.Histogram) (n uint64, total time.Duration) {
	var m dto.Metric
	if err := h.Write(&m); err != nil {
		return 0, 0 // it writes into memory; it fails only for a histogram that cannot be made
	}
	return m.GetHistogram().GetSampleCount(), time.Duration(m.GetHistogram().GetSampleSum() * float64(time.Second))
}
