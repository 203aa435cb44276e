package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/messages"
)

// Observer counts and measures what a node reports of its work. It implements node.Observer.
type Observer struct {
	requests                map[messages.Operation]prometheus.Observer
	requestSeconds          *prometheus.HistogramVec
	waits, commits, changes prometheus.Histogram
	openings, compactions   prometheus.Histogram
	holds                   prometheus.Histogram
	committed, conflicts    *prometheus.CounterVec
	ended                   []prometheus.Counter
	endings                 *prometheus.CounterVec
	opened                  []prometheus.Counter
	takeovers               *prometheus.CounterVec
	returned                prometheus.Counter
}

// otherOperation is the label of requests whose subject has no operation.
const otherOperation = "other"

// The classic buckets of durations: of what takes as long as a write to a disk, and of what clients decide. Native
// histograms need none.
var (
	short = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	long  = []float64{.01, .1, .5, 1, 5, 15, 30, 60, 300, 900, 3600, 21600, 86400}
)

// newObserver returns an observer whose metrics are in the registry.
func newObserver(r *prometheus.Registry) *Observer {
	with := promauto.With(r)
	o := &Observer{
		requestSeconds: with.NewHistogramVec(histogram("request_duration_seconds",
			"The time from the arrival of a request to its answer, except of requests that waited in a queue.", short),
			[]string{"op"}),
		waits: with.NewHistogram(histogram("acquire_wait_seconds",
			"The time from the arrival of an acquire to its grant, of requests that waited in a queue.", long)),
		holds: with.NewHistogram(histogram("hold_seconds",
			"How long persistent leases were held that have ended.", long)),
		commits: with.NewHistogram(histogram("commit_duration_seconds",
			"The time in which JetStream confirmed a commit.", short)),
		changes: with.NewHistogram(histogram("commit_changes",
			"The changes in a commit; those without changes prove ownership.",
			[]float64{0, 1, 2, 5, 10, 20, 50, 100, 200, 500,
				1000, 2000, 5000})),
		openings: with.NewHistogram(histogram("shard_open_seconds",
			"The time from the beginning of the attempt that has opened a shard until it was open.", short)),
		compactions: with.NewHistogram(histogram("compaction_seconds",
			"The time that a compaction took.", short)),
		committed: with.NewCounterVec(counter("commits_total",
			"The commits that JetStream has confirmed to this node."),
			[]string{"shard"}),
		conflicts: with.NewCounterVec(counter("commit_conflicts_total",
			"The appends that were refused because another node had taken the shard."), []string{"shard"}),
		endings: with.NewCounterVec(counter("lease_ended_total", "The persistent leases that have ended."),
			[]string{"reason"}),
		takeovers: with.NewCounterVec(counter("takeovers_total",
			"The shards that this node has opened: new ones, those that it had before (restarted), those that "+
				"another node has let go (handed_over) and those of nodes that failed or were not heard (moved)."),
			[]string{"reason"}),
		returned: with.NewCounter(counter("grants_returned_total",
			"The grants that reached no client and were taken back.")),
	}
	o.requests = map[messages.Operation]prometheus.Observer{"": o.requestSeconds.WithLabelValues(otherOperation)}
	for _, op := range messages.Operations {
		o.requests[op] = o.requestSeconds.WithLabelValues(string(op))
	}
	for _, why := range actors.Endings() {
		o.ended = append(o.ended, o.endings.WithLabelValues(why.String()))
	}
	for _, from := range actors.Takeovers() {
		o.opened = append(o.opened, o.takeovers.WithLabelValues(from.String()))
	}
	return o
}

const namespace = "holdfast"

func counter(name, help string) prometheus.CounterOpts {
	return prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}
}

// histogram returns the options of one that is native for a server that asks for it, and has buckets for others.
func histogram(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Namespace: namespace, Name: name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160,
		NativeHistogramMinResetDuration: time.Hour,
	}
}

// Answered implements node.Observer.
func (o *Observer) Answered(op messages.Operation, took time.Duration) {
	if r, known := o.requests[op]; known {
		r.Observe(took.Seconds())
	}
}

// Waited implements node.Observer.
func (o *Observer) Waited(took time.Duration) { o.waits.Observe(took.Seconds()) }

// Committed implements actors.Observer.
func (o *Observer) Committed(shard uint32, took time.Duration, changes int) {
	o.committed.WithLabelValues(label(shard)).Inc()
	o.commits.Observe(took.Seconds())
	o.changes.Observe(float64(changes))
}

// Conflicted implements actors.Observer.
func (o *Observer) Conflicted(shard uint32) { o.conflicts.WithLabelValues(label(shard)).Inc() }

// Ended implements actors.Observer.
func (o *Observer) Ended(why actors.Ending, held time.Duration) {
	o.ended[why].Inc()
	o.holds.Observe(held.Seconds())
}

// Returned implements actors.Observer.
func (o *Observer) Returned() { o.returned.Inc() }

// Opened implements actors.Observer.
func (o *Observer) Opened(shard uint32, from actors.Takeover, took time.Duration) {
	o.committed.WithLabelValues(label(shard)) // a counter begins at 0, so that its first increase is seen
	o.conflicts.WithLabelValues(label(shard))
	o.opened[from].Inc()
	o.openings.Observe(took.Seconds())
}

// Compacted implements actors.Observer.
func (o *Observer) Compacted(took time.Duration) { o.compactions.Observe(took.Seconds()) }

func label(shard uint32) string { return strconv.FormatUint(uint64(shard), 10) }
