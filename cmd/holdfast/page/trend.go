package page

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/metrics"
)

const (
	// sampleEvery is the time between two samples, and mostSamples how many are kept: five minutes.
	sampleEvery, mostSamples = 2 * time.Second, 150
)

// sample is what the node had counted at a time.
type sample struct {
	at time.Time
	metrics.Totals
}

// trend is the samples of the last minutes. It is safe for concurrent use.
type trend struct {
	totals func() metrics.Totals

	mu      sync.Mutex
	samples []sample // oldest first
}

func newTrend(totals func() metrics.Totals) *trend { return &trend{totals: totals} }

// run takes samples until ctx ends.
func (t *trend) run(ctx context.Context) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		t.add(sample{time.Now(), t.totals()})
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (t *trend) add(s sample) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.samples) == mostSamples {
		copy(t.samples, t.samples[1:])
		t.samples = t.samples[:mostSamples-1]
	}
	t.samples = append(t.samples, s)
}

// plots returns what the view of the cluster draws.
func (t *trend) plots() []plot {
	t.mu.Lock()
	defer t.mu.Unlock()
	rate, commit, wait := plot{Title: "Commits per second"},
		plot{Title: "Mean time of a commit", Unit: " ms"},
		plot{Title: "Mean time in a queue until the grant", Unit: " ms"}
	for i := 1; i < len(t.samples); i++ {
		a, b := t.samples[i-1], t.samples[i]
		rate.add(float64(b.Commits-a.Commits)/b.at.Sub(a.at).Seconds(), true)
		commit.addMean(b.CommitTime-a.CommitTime, b.Commits-a.Commits)
		wait.addMean(b.WaitTime-a.WaitTime, b.Waits-a.Waits)
	}
	return []plot{rate, commit, wait}
}
