package metrics

import (
	"cmp"
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node"
)

// Node is where the counters of a node come from. *node.Node has these methods.
type Node interface {
	Shards() uint32
	Figures() node.Figures
	Storage() *node.Storage
	Census(ctx context.Context) map[uint32]actors.Census
}

// censusTimeout bounds how long a scrape waits for a busy shard, which is missing then.
const censusTimeout = 2 * time.Second

// nodeDescs are the metrics that are read at each scrape.
var nodeDescs []*prometheus.Desc

// desc adds a metric to [nodeDescs].
func desc(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
	nodeDescs = append(nodeDescs, d)
	return d
}

var (
	requests = desc("requests_total", "The answers that have left the node, by the operation of the request.", "op",
		"status")
	dropped = desc("requests_dropped_total", "The requests that were dropped because their reply subject is no inbox.")
	unread  = desc("requests_unread_total",
		"The requests that were lost because they came faster than they were read.")
	unsent  = desc("replies_unsent_total", "The answers that NATS did not take.")
	pending = desc("requests_pending", "The requests that are neither answered nor in a queue.")
	leases  = desc("leases",
		"The leases that are held in the shards of this node, and the ended ones that hold their resource back "+
			"(held_back): lost, or resting until their shortest hold is over.",
		"durability", "mode")
	waiters  = desc("waiters", "The requests that wait in a queue.")
	longest  = desc("queue_longest", "The requests that wait for the resource with the longest queue.")
	sessions = desc("sessions",
		"The sessions in the shards of this node. A client has one in each shard that it uses.")
	nearLimit = desc("tokens_near_limit", "The grants since the start with a token above 90 000 000 000 000.")
	owned     = desc("shard_owned", "Whether this node owns the shard.", "shard")
	epoch     = desc("shard_epoch", "How often the shard has been opened, of shards that this node owns.", "shard")
	stalled   = desc("shard_stalled",
		"Whether JetStream has confirmed nothing for so long that new requests are refused.", "shard")
	published = desc("events_published_total",
		"The events that were published; an event that was published twice counts twice.")
	behind      = desc("events_behind", "The commits whose events are not published yet.")
	lost        = desc("events_lost_total", "The commits whose events will never be published.")
	clockOffset = desc("clock_offset_seconds",
		"How far the clock of this node is ahead of that of the other node from which it differs most, negative: behind; "+
			"0: there is no other node. It includes the delay of a message.")
	bytes = desc("memory_held_bytes",
		"The estimated size of what the shards of this node remember, as it is stored.")

	tenantLeases = desc("tenant_leases",
		"The leases of a tenant in the shards of this node, held_back ones included.", "tenant")
	tenantWaiters   = desc("tenant_waiters", "The requests of a tenant that wait in a queue.", "tenant")
	tenantMaxLeases = desc("tenant_leases_limit", "The leases that a tenant may have in the shards of this node.",
		"tenant")
	tenantMaxWaiters = desc("tenant_waiters_limit", "The requests of a tenant that may wait on this node.", "tenant")
	tenantRequests   = desc("tenant_requests_total",
		"The requests of a tenant that this node has taken from clients, or refused.", "tenant")
	tenantRefused = desc("tenant_refused_total", "The answers OVERLOADED to a tenant.", "tenant")

	storageFault = desc("storage_fault",
		"Whether a fault of its disk keeps the NATS server in the process from storing.")
	storageFree   = desc("storage_free_bytes", "How much of the disk of the data directory is free for the process.")
	storageSize   = desc("storage_size_bytes", "The size of the disk of the data directory.")
	storageSynced = desc("storage_synced",
		"Whether NATS confirms a commit only when it is on disk; missing if an external NATS does not tell.")
	replicasBehind = desc("replicas_behind",
		"The replicas of a shard that are away or behind, at the NATS server that leads it.", "shard")
	certificateEnd = desc("certificate_expiry_timestamp_seconds",
		"When a certificate in use ends: that for clients of NATS, for other members, for https; "+
			"+Inf: the node has none.", "use")
)

// nodeCollector reads the counters of a node at each scrape.
type nodeCollector struct {
	source atomic.Pointer[Node] // nil until the node runs
	// synced returns whether NATS syncs each write, if that is known; nil until the node runs.
	synced atomic.Pointer[func() (synced, known bool)]

	mu sync.Mutex
	// certificates return when those end that NATS does not know, by what they are for.
	certificates map[string]func() time.Time
}

// Describe implements prometheus.Collector.
func (c *nodeCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range nodeDescs {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *nodeCollector) Collect(to chan<- prometheus.Metric) {
	s := sink(to)
	if ask := c.synced.Load(); ask != nil {
		if synced, known := (*ask)(); known {
			s.gauge(storageSynced, count(synced))
		}
	}
	source := c.source.Load()
	if source == nil {
		return
	}
	s.figures((*source).Figures())
	c.collectStorage(s, (*source).Storage())
	ctx, cancel := context.WithTimeout(context.Background(), censusTimeout)
	defer cancel()
	s.shards((*source).Shards(), (*source).Census(ctx))
}

// collectStorage shows what the node stores on, nil: NATS is elsewhere; and when certificates end. Without TLS there is
// one that never ends, so that an alert has a value.
func (c *nodeCollector) collectStorage(to sink, s *node.Storage) {
	ends := map[string]time.Time{}
	if s != nil {
		to.gauge(storageFault, count(s.Fault != ""))
		if s.TotalBytes > 0 {
			to.gauge(storageFree, int64(s.FreeBytes))
			to.gauge(storageSize, int64(s.TotalBytes))
		}
		for shard, n := range s.Behind {
			to.gauge(replicasBehind, int64(n), label(shard))
		}
		ends = s.Certificates
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for use, end := range ends {
		to.value(certificateEnd, float64(end.Unix()), use)
	}
	for use, end := range c.certificates {
		to.value(certificateEnd, float64(end().Unix()), use)
	}
	if len(ends)+len(c.certificates) == 0 {
		to.value(certificateEnd, math.Inf(1), "none")
	}
}

func (s sink) figures(f node.Figures) {
	for _, a := range f.Answers {
		s.counter(requests, a.Count, cmp.Or(string(a.Operation), otherOperation), a.Status.String())
	}
	s.counter(dropped, f.Dropped)
	s.counter(unread, f.Unread)
	s.counter(unsent, f.Unsent)
	s.gauge(pending, f.Pending)
	s.gauge(waiters, f.Waiting)
	s.gauge(nearLimit, int64(f.LateTokens))
	s.counter(published, f.Events.Published)
	s.gauge(behind, int64(f.Events.Behind))
	s.counter(lost, f.Events.Lost)
	s.value(clockOffset, f.Clock.Seconds)
	for _, t := range f.Tenants {
		s.gauge(tenantLeases, t.Held, t.Name)
		s.gauge(tenantWaiters, t.Waiting, t.Name)
		s.gauge(tenantMaxLeases, t.MaxHeld, t.Name)
		s.gauge(tenantMaxWaiters, t.MaxWaiting, t.Name)
		s.counter(tenantRequests, t.Requests, t.Name)
		s.counter(tenantRefused, t.Refused, t.Name)
	}
}

func (s sink) shards(shards uint32, all map[uint32]actors.Census) {
	var sum actors.Census
	for shard := range shards {
		x, here := all[shard]
		open := here && x.State == actors.Open
		s.gauge(owned, count(open), label(shard))
		if !open {
			continue
		}
		s.gauge(epoch, int64(x.Epoch), label(shard))
		s.gauge(stalled, count(x.Stalled), label(shard))
		sum.Exclusive += x.Exclusive
		sum.Shared += x.Shared
		sum.HeldBack += x.HeldBack
		sum.EphemeralExclusive += x.EphemeralExclusive
		sum.EphemeralShared += x.EphemeralShared
		sum.Bytes += x.Bytes
		sum.Sessions += x.Sessions
		sum.LongestQueue = max(sum.LongestQueue, x.LongestQueue)
	}
	s.gauge(leases, int64(sum.Exclusive), "persistent", "exclusive")
	s.gauge(leases, int64(sum.Shared), "persistent", "shared")
	s.gauge(leases, int64(sum.HeldBack), "persistent", "held_back")
	s.gauge(leases, int64(sum.EphemeralExclusive), "ephemeral", "exclusive")
	s.gauge(leases, int64(sum.EphemeralShared), "ephemeral", "shared")
	s.gauge(longest, int64(sum.LongestQueue))
	s.gauge(sessions, int64(sum.Sessions))
	s.gauge(bytes, int64(sum.Bytes))
}

func count(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// sink takes the values of a scrape.
type sink chan<- prometheus.Metric

func (s sink) counter(d *prometheus.Desc, value uint64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), labels...)
}

func (s sink) gauge(d *prometheus.Desc, value int64, labels ...string) {
	s.value(d, float64(value), labels...)
}

func (s sink) value(d *prometheus.Desc, value float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}
