package metrics

import (
	"math"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-io/holdfast/actors/node"
)

// storageCollector shows what a node stores on, and when certificates end. Without TLS there is one that never ends, so that an
// alert has a value.
type storageCollector struct {
	fault, free, size, behind, certificate *prometheus.Desc

	mu sync.Mutex
	// certificates return when those end that NATS does not know, by what they are for.
	certificates map[string]func() time.Time
}

func newStorageCollector() *storageCollector {
	return &storageCollector{
		fault:  desc("storage_fault", "Whether a fault of its disk keeps the NATS server in the process from storing."),
		free:   desc("storage_free_bytes", "How much of the disk of the data directory is free for the process."),
		size:   desc("storage_size_bytes", "The size of the disk of the data directory."),
		behind: desc("replicas_behind", "The replicas of a shard that are away or behind, at the NATS server that leads it.", "shard"),
		certificate: desc("certificate_expiry_timestamp_seconds",
			"When a certificate in use ends: that for clients of NATS, for other members, for https; +Inf: the node has none.", "use"),
		certificates: map[string]func() time.Time{},
	}
}

func (c *storageCollector) descs() []*prometheus.Desc {
	return []*prometheus.Desc{c.fault, c.free, c.size, c.behind, c.certificate}
}

// collect shows the storage, nil: NATS is elsewhere.
func (c *storageCollector) collect(to sink, s *node.Storage) {
	ends := map[string]time.Time{}
	if s != nil {
		to.gauge(c.fault, count(s.Fault != ""))
		if s.TotalBytes > 0 {
			to.gauge(c.free, int64(s.FreeBytes))
			to.gauge(c.size, int64(s.TotalBytes))
		}
		for shard, n := range s.Behind {
			to.gauge(c.behind, int64(n), label(shard))
		}
		ends = s.Certificates
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for use, end := range ends {
		to.value(c.certificate, float64(end.Unix()), use)
	}
	for use, end := range c.certificates {
		to.value(c.certificate, float64(end().Unix()), use)
	}
	if len(ends)+len(c.certificates) == 0 {
		to.value(c.certificate, math.Inf(1), "none")
	}
}
