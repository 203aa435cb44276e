package metrics

import "github.com/prometheus/client_golang/prometheus"

// syncedCollector returns whether NATS confirms a write only when it is on disk, if that is known.
type syncedCollector func() (synced, known bool)

var syncedDesc = desc("storage_synced", "Whether NATS confirms a commit only when it is on disk; missing if an external NATS does not tell.")

// Synced shows how NATS stores from now on.
func (m *Metrics) Synced(ask func() (synced, known bool)) {
	m.registry.MustRegister(syncedCollector(ask))
}

// Describe implements prometheus.Collector.
func (c syncedCollector) Describe(to chan<- *prometheus.Desc) { to <- syncedDesc }

// Collect implements prometheus.Collector.
func (c syncedCollector) Collect(to chan<- prometheus.Metric) {
	switch synced, known := c(); {
	case known && synced:
		sink(to).gauge(syncedDesc, 1)
	case known:
		sink(to).gauge(syncedDesc, 0)
	}
}
