// Package metrics shows what a node counts and measures to Prometheus. No label has the name of a resource or of an
// owner, because there are as many of these as clients choose.
package metrics

import (
	"log/slog"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	// maxScrapes is how many scrapes are answered at a time; others are refused with 503. scrapeTimeout bounds each.
	maxScrapes    = 4
	scrapeTimeout = 10 * time.Second
)

// Metrics are those of one process. It is safe for concurrent use.
type Metrics struct {
	*Observer
	registry *prometheus.Registry
	node     *nodeCollector
}

// New returns metrics of a node that is being started: those of the process and of the build.
func New(version string) *Metrics {
	registry := prometheus.NewRegistry()
	node := &nodeCollector{certificates: make(map[string]func() time.Time)}
	m := &Metrics{Observer: newObserver(registry), registry: registry, node: node}
	promauto.With(registry).NewGauge(prometheus.GaugeOpts{
		Name: "holdfast_build_info", Help: "The version of Holdfast and of Go; the value is 1.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	}).Set(1)
	process := collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})
	registry.MustRegister(node, collectors.NewGoCollector(), process)
	return m
}

// Started says that the node runs. Its counters are shown from now on.
func (m *Metrics) Started(n Node) { m.node.source.Store(&n) }

// Synced shows whether NATS confirms a write only when it is on disk, if that is known.
func (m *Metrics) Synced(ask func() (synced, known bool)) { m.node.synced.Store(&ask) }

// Certificate shows when a certificate ends that is not one of NATS.
func (m *Metrics) Certificate(use string, end func() time.Time) {
	m.node.mu.Lock()
	defer m.node.mu.Unlock()
	m.node.certificates[use] = end
}

// Gatherer returns the source of all metrics.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// Handler answers scrapes.
func (m *Metrics) Handler(log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError,
		MaxRequestsInFlight: maxScrapes, Timeout: scrapeTimeout, EnableOpenMetrics: true,
	})
}
