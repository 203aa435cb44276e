package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/holdfast-io/holdfast/messages"
)

// Result is what a run has measured.
type Result struct {
	// Elapsed is the measured time, without the warm-up.
	Elapsed time.Duration
	// Latencies are those of the calls that succeeded. An operation without one is missing.
	Latencies map[messages.Operation]*Latencies
	// Failures are the calls that failed.
	Failures map[Failure]uint64
}

// Rate returns how many calls of an operation succeeded in a second.
func (r *Result) Rate(op messages.Operation) float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Latencies[op].Count()) / r.Elapsed.Seconds()
}

// The range of latencies, and their significant digits. Others count as the nearest of the range.
const (
	shortest = time.Microsecond
	longest  = time.Hour
	digits   = 3
)

// Latencies is a distribution of latencies with three significant digits. Its size does not depend on how many there
// are. nil is an empty distribution that can only be read. It is not safe for concurrent use.
type Latencies struct{ histogram *hdrhistogram.Histogram }

func newLatencies() *Latencies {
	return &Latencies{hdrhistogram.New(int64(shortest), int64(longest), digits)}
}

func (l *Latencies) add(d time.Duration) {
	_ = l.histogram.RecordValue(int64(min(d, longest))) // it is within the range
}

// Merge returns the distribution of both.
func (l *Latencies) Merge(other *Latencies) *Latencies {
	merged := newLatencies()
	for _, part := range []*Latencies{l, other} {
		if part != nil {
			merged.histogram.Merge(part.histogram)
		}
	}
	return merged
}

// Count returns the number of latencies.
func (l *Latencies) Count() int64 {
	if l == nil {
		return 0
	}
	return l.histogram.TotalCount()
}

// Quantile returns the latency that a share q of all, from 0 to 1, does not exceed: 0.5 is the median, 1 the longest.
// It is 0 if there are none.
func (l *Latencies) Quantile(q float64) time.Duration {
	if l.Count() == 0 {
		return 0
	}
	return time.Duration(l.histogram.ValueAtQuantile(100 * q))
}
