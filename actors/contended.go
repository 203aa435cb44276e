package actors

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/ranking"
	"github.com/holdfast-io/holdfast/messages"
)

// queuesAtOnce bounds how many queues one step of a ranking looks at.
const queuesAtOnce = 4096

// contended answers a [Listing] by QUEUE or by WAIT in steps.
type contended struct {
	query Listing
	top   *ranking.Top[*messages.Queue]
	// left are the queues at the begin that have yet to be looked at; nil before the first step.
	left []*queue
	// began is when it began: all of them have waited until then.
	began lease.Instant
	found Listed
}

func newContended(l Listing) *contended {
	return &contended{query: l, top: ranking.NewTop[*messages.Queue](l.Limit)}
}

// step looks at some queues, and reports whether all have been looked at.
func (c *contended) step(t *term, now lease.Time) (done bool) {
	if c.left == nil {
		c.left, c.began = slices.Clone(t.activations.queues.all), now.Instant
	}
	n := min(len(c.left), queuesAtOnce)
	for _, q := range c.left[:n] {
		c.look(q)
	}
	if c.left = c.left[n:]; len(c.left) > 0 {
		return false
	}
	c.show(t, now)
	return true
}

func (c *contended) result() Listed { return c.found }

// look adds a queue, unless nothing waits in it any more.
func (c *contended) look(q *queue) {
	waiting, oldest := q.lengths(c.began)
	at := ranking.OfLengths(c.query.By, waiting, oldest)
	if waiting == 0 || c.top.Excludes(at.First) {
		return
	}
	if resource := q.activation.resource; c.query.Selects(resource) {
		at.Tenant, at.Name = messages.Unqualify(resource)
		c.top.Add(at, &messages.Queue{Resource: at.Name, Tenant: at.Tenant, Waiting: waiting, OldestMs: oldest})
	}
}

// show makes the result, as much of it as fits.
func (c *contended) show(t *term, now lease.Time) {
	size := 0
	c.top.Each(func(_ ranking.Place, q *messages.Queue) bool {
		if size >= c.query.Bytes {
			return false
		}
		resource := messages.Qualify(q.GetTenant(), q.GetResource())
		if c.query.Waiters {
			q.Waiters = t.activations.waiters(resource, now)
		}
		c.found.Queues = append(c.found.Queues, q)
		size += proto.Size(q)
		if h, ok := t.ledger.OldestLease(resource); ok {
			l := t.sessions.Lease(h, now.Instant)
			l.Tenant = q.GetTenant()
			c.found.Leases = append(c.found.Leases, l)
			size += proto.Size(l)
		}
		return true
	})
}
