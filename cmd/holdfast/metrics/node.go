package metrics

import (
	"cmp"
	"context"
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

// nodeCollector reads the counters of a node at each scrape.
type nodeCollector struct {
	source  atomic.Pointer[Node] // nil until the node runs
	storage *storageCollector

	requests, dropped, unread, unsent, pending    *prometheus.Desc
	leases, waiters, longest, sessions, nearLimit *prometheus.Desc
	owned, epoch, stalled                         *prometheus.Desc
	published, behind, lost, bytes                *prometheus.Desc
	// Those of each tenant of the tenants file.
	tenantLeases, tenantWaiters, tenantRequests, tenantRefused *prometheus.Desc
}

func newNodeCollector() *nodeCollector {
	return &nodeCollector{
		storage:  newStorageCollector(),
		requests: desc("requests_total", "The answers that have left the node, by the operation of the request.", "op", "status"),
		dropped:  desc("requests_dropped_total", "The requests that were dropped because their reply subject is no inbox."),
		unread:   desc("requests_unread_total", "The requests that were lost because they came faster than they were read."),
		unsent:   desc("replies_unsent_total", "The answers that NATS did not take."),
		pending:  desc("requests_pending", "The requests that are neither answered nor in a queue."),
		leases: desc("leases", "The leases that are held in the shards of this node, and the lost ones that hold their resource back (held_back).",
			"durability", "mode"),
		waiters:   desc("waiters", "The requests that wait in a queue."),
		longest:   desc("queue_longest", "The requests that wait for the resource with the longest queue."),
		sessions:  desc("sessions", "The sessions in the shards of this node. A client has one in each shard that it uses."),
		nearLimit: desc("tokens_near_limit", "The grants since the start with a token above 90 000 000 000 000."),
		owned:     desc("shard_owned", "Whether this node owns the shard.", "shard"),
		epoch:     desc("shard_epoch", "How often the shard has been opened, of shards that this node owns.", "shard"),
		stalled:   desc("shard_stalled", "Whether JetStream has confirmed nothing for so long that new requests are refused.", "shard"),
		published: desc("events_published_total", "The events that were published; an event that was published twice counts twice."),
		behind:    desc("events_behind", "The commits whose events are not published yet."),
		lost:      desc("events_lost_total", "The commits whose events will never be published."),
		bytes:     desc("memory_held_bytes", "The estimated size of what the shards of this node remember, as it is stored."),

		tenantLeases:   desc("tenant_leases", "The leases of a tenant in the shards of this node, held_back ones included.", "tenant"),
		tenantWaiters:  desc("tenant_waiters", "The requests of a tenant that wait in a queue.", "tenant"),
		tenantRequests: desc("tenant_requests_total", "The requests of a tenant that this node has taken from clients, or refused.", "tenant"),
		tenantRefused:  desc("tenant_refused_total", "The answers OVERLOADED to a tenant.", "tenant"),
	}
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}

// Describe implements prometheus.Collector.
func (c *nodeCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		c.requests, c.dropped, c.unread, c.unsent, c.pending, c.leases, c.waiters, c.longest, c.sessions, c.nearLimit,
		c.owned, c.epoch, c.stalled, c.published, c.behind, c.lost, c.bytes,
		c.tenantLeases, c.tenantWaiters, c.tenantRequests, c.tenantRefused,
	} {
		to <- d
	}
	for _, d := range c.storage.descs() {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *nodeCollector) Collect(to chan<- prometheus.Metric) {
	source := c.source.Load()
	if source == nil {
		return
	}
	s := sink(to)
	c.collectFigures(s, (*source).Figures())
	c.storage.collect(s, (*source).Storage())
	ctx, cancel := context.WithTimeout(context.Background(), censusTimeout)
	defer cancel()
	c.collectShards(s, (*source).Shards(), (*source).Census(ctx))
}

func (c *nodeCollector) collectFigures(s sink, f node.Figures) {
	for _, a := range f.Answers {
		s.counter(c.requests, a.Count, cmp.Or(string(a.Operation), otherOperation), a.Status.String())
	}
	s.counter(c.dropped, f.Dropped)
	s.counter(c.unread, f.Unread)
	s.counter(c.unsent, f.Unsent)
	s.gauge(c.pending, f.Pending)
	s.gauge(c.waiters, f.Waiting)
	s.gauge(c.nearLimit, int64(f.LateTokens))
	s.counter(c.published, f.Events.Published)
	s.gauge(c.behind, int64(f.Events.Behind))
	s.counter(c.lost, f.Events.Lost)
	for _, t := range f.Tenants {
		s.gauge(c.tenantLeases, t.Held, t.Name)
		s.gauge(c.tenantWaiters, t.Waiting, t.Name)
		s.counter(c.tenantRequests, t.Requests, t.Name)
		s.counter(c.tenantRefused, t.Refused, t.Name)
	}
}

func (c *nodeCollector) collectShards(s sink, shards uint32, all map[uint32]actors.Census) {
	var sum actors.Census
	for shard := range shards {
		x, here := all[shard]
		open := here && x.State == actors.Open
		s.gauge(c.owned, count(open), label(shard))
		if !open {
			continue
		}
		s.gauge(c.epoch, int64(x.Epoch), label(shard))
		s.gauge(c.stalled, count(x.Stalled), label(shard))
		sum.Exclusive += x.Exclusive
		sum.Shared += x.Shared
		sum.HeldBack += x.HeldBack
		sum.EphemeralExclusive += x.EphemeralExclusive
		sum.EphemeralShared += x.EphemeralShared
		sum.Bytes += x.Bytes
		sum.Sessions += x.Sessions
		sum.LongestQueue = max(sum.LongestQueue, x.LongestQueue)
	}
	s.gauge(c.leases, int64(sum.Exclusive), "persistent", "exclusive")
	s.gauge(c.leases, int64(sum.Shared), "persistent", "shared")
	s.gauge(c.leases, int64(sum.HeldBack), "persistent", "held_back")
	s.gauge(c.leases, int64(sum.EphemeralExclusive), "ephemeral", "exclusive")
	s.gauge(c.leases, int64(sum.EphemeralShared), "ephemeral", "shared")
	s.gauge(c.longest, int64(sum.LongestQueue))
	s.gauge(c.sessions, int64(sum.Sessions))
	s.gauge(c.bytes, int64(sum.Bytes))
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
