package node

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"

	"github.com/holdfast-io/holdfast/actors/node/service"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// serviceName is what `nats micro ls` shows, and the queue group of all endpoints but the direct ones.
	serviceName = "holdfast"
	// ownerGroup is the queue group of the direct endpoints.
	ownerGroup = serviceName + "-owner"
)

// What may wait to be read on one subscription: all divided by the number of subscriptions, within the other two
// bounds. Handlers do not wait, and refuse requests long before, so that little waits: what exceeds these bounds is
// lost and counted, and its sender gets no answer.
const (
	intakeMessages, allMessages, minMessages = 1 << 16, 1 << 21, 1 << 12
	intakeBytes, allBytes, minBytes          = 32 << 20, 1 << 30, 1 << 20
)

// The same for all subscriptions of tenants together.
const (
	tenantMessages, minTenantMessages = 1 << 20, 1 << 8
	tenantBytes, minTenantBytes       = 512 << 20, 64 << 10
)

// handler takes a request of a tenant; nil: of none.
type handler func(*tenant, *nats.Msg)

// front is an endpoint that all nodes share.
type front struct {
	name    string
	subject func(messages.Prefix) string
	handle  handler
	// counter counts its requests of all tenants and of none.
	counter *service.Endpoint
}

// endpoints are the subscriptions on which requests arrive. It is safe for concurrent use.
type endpoints struct {
	nc      *nats.Conn
	prefix  messages.Prefix
	log     *slog.Logger
	service *service.Service
	// fronts are the endpoints that all nodes share. They do not change once there are tenants.
	fronts []front
	// request handles what arrives at direct endpoints, of which direct keeps count.
	request handler
	direct  *service.Endpoint
	// shardCount is how many shards there are, maxOpen how many subscriptions there may be without those of tenants.
	shardCount uint32
	maxOpen    int
	warnings   *rate.Sometimes

	// changing lets one change at a time open and close subscriptions.
	changing sync.Mutex
	// own are the direct endpoints of no tenant, tenants the subscriptions of each tenant.
	own     subscriptions
	tenants map[*tenant]*subscriptions
	// messages and bytes may wait on each subscription of a tenant.
	messages, bytes int

	mu sync.Mutex
	// open are all subscriptions.
	open map[*nats.Subscription]bool
	// unreadBefore counts what was lost on subscriptions that are closed.
	unreadBefore uint64
}

// subscriptions are those for the requests of one tenant, or of none: a flood of one fills only its own.
type subscriptions struct {
	tenant *tenant
	fronts []*nats.Subscription
	shards map[messages.Shard]*nats.Subscription
}

func newEndpoints(cfg Config, s *service.Service, request handler) *endpoints {
	return &endpoints{
		nc: cfg.Intake, prefix: cfg.Prefix, log: cfg.Log, service: s, request: request,
		direct: s.Endpoint("direct", string(cfg.Prefix)+".shard.*.>", ownerGroup), shardCount: cfg.Shards,
		maxOpen: len(messages.Operations) + 2 + int(cfg.Shards), warnings: onceASecond(),
		own: subscriptions{shards: make(map[messages.Shard]*nats.Subscription)}, tenants: make(map[*tenant]*subscriptions),
		open: make(map[*nats.Subscription]bool),
	}
}

// add opens an endpoint that all nodes share. subject returns its subject below a prefix.
func (e *endpoints) add(name string, subject func(messages.Prefix) string, handle handler) error {
	e.changing.Lock()
	defer e.changing.Unlock()
	f := front{name, subject, handle, e.service.Endpoint(name, subject(e.prefix), serviceName)}
	e.fronts = append(e.fronts, f)
	_, err := e.subscribe(nil, f.subject, serviceName, f.counter, f.handle)
	return err
}

// subscribe opens a subscription of a tenant, or of none.
func (e *endpoints) subscribe(
	t *tenant, subject func(messages.Prefix) string, group string, counter *service.Endpoint, handle handler,
) (*nats.Subscription, error) {
	sub, err := e.nc.QueueSubscribe(subject(t.prefix(e.prefix)), group,
		counter.Counted(func(m *nats.Msg) { handle(t, m) }))
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	e.open[sub] = true
	e.mu.Unlock()
	if t != nil {
		return sub, sub.SetPendingLimits(e.messages, e.bytes)
	}
	return sub, setPendingLimits(sub, e.maxOpen)
}

// setDirect opens or closes a shard's direct endpoints, and reports whether that was done. While a shard moves, two
// nodes have it open, as one queue group: a request goes to one of them and not to both. An endpoint that is closed
// still handles what has arrived before.
func (e *endpoints) setDirect(shard messages.Shard, open bool) bool {
	e.changing.Lock()
	defer e.changing.Unlock()
	done := e.setDirectOf(&e.own, shard, open)
	for _, d := range e.tenants {
		done = e.setDirectOf(d, shard, open) && done
	}
	return done
}

// setDirectOf is setDirect for a tenant, or none.
func (e *endpoints) setDirectOf(d *subscriptions, shard messages.Shard, open bool) bool {
	sub := d.shards[shard]
	switch {
	case !open:
		e.close(sub)
		delete(d.shards, shard)
		return true
	case sub != nil:
		return true
	}
	subject := func(p messages.Prefix) string { return p.Shard(shard) }
	sub, err := e.subscribe(d.tenant, subject, ownerGroup, e.direct, e.request)
	if err != nil {
		e.warnings.Do(func() { e.log.Warn("cannot open the direct endpoint", "shard", shard.Number, "error", err) })
		return false
	}
	d.shards[shard] = sub
	return true
}

// moveTo opens the direct endpoints of all shards of the generations before g. Every node has them open, in the group of
// their former owners, so each request goes to one node while the nodes follow one another.
func (e *endpoints) moveTo(g *generation) error {
	e.changing.Lock()
	e.shardCount = g.directSubjects()
	e.changing.Unlock()
	for _, former := range g.former {
		for number := range former.Count {
			if !e.setDirect(former.Shard(number), true) {
				return fmt.Errorf("the direct endpoint of shard %d of generation %d cannot be opened", number, former.Generation)
			}
		}
	}
	return nil
}

// close closes a subscription; nil is none.
func (e *endpoints) close(sub *nats.Subscription) {
	if sub == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if dropped, err := sub.Dropped(); err == nil {
		e.unreadBefore += uint64(dropped)
	}
	_ = sub.Drain() // it fails if the connection is gone, and the subscription with it
	delete(e.open, sub)
}

// addTenant opens the endpoints of a tenant, the direct ones for the shards whose direct endpoint is open.
func (e *endpoints) addTenant(t *tenant) error {
	e.changing.Lock()
	defer e.changing.Unlock()
	d := &subscriptions{tenant: t, shards: make(map[messages.Shard]*nats.Subscription)}
	e.tenants[t] = d
	for _, f := range e.fronts {
		sub, err := e.subscribe(t, f.subject, serviceName, f.counter, f.handle)
		if err != nil {
			return err
		}
		d.fronts = append(d.fronts, sub)
	}
	for shard := range e.own.shards {
		if !e.setDirectOf(d, shard, true) {
			return fmt.Errorf("the direct endpoint of shard %d cannot be opened", shard.Number)
		}
	}
	return nil
}

// removeTenant closes the endpoints of a tenant.
func (e *endpoints) removeTenant(t *tenant) {
	e.changing.Lock()
	defer e.changing.Unlock()
	d := e.tenants[t]
	if d == nil {
		return
	}
	for _, sub := range d.all() {
		e.close(sub)
	}
	delete(e.tenants, t)
}

// boundTenants bounds what may wait on the subscriptions of a number of tenants.
func (e *endpoints) boundTenants(count int) error {
	e.changing.Lock()
	defer e.changing.Unlock()
	subscriptions := max(count, 1) * tenantSubscriptions(e.shardCount)
	e.messages = min(max(tenantMessages/subscriptions, minTenantMessages), intakeMessages)
	e.bytes = min(max(tenantBytes/subscriptions, minTenantBytes), intakeBytes)
	var errs []error
	for _, d := range e.tenants {
		for _, sub := range d.all() {
			errs = append(errs, sub.SetPendingLimits(e.messages, e.bytes))
		}
	}
	return errors.Join(errs...)
}

// all returns the subscriptions.
func (d *subscriptions) all() []*nats.Subscription {
	return slices.AppendSeq(slices.Clone(d.fronts), maps.Values(d.shards))
}

// unread counts the requests that were lost because they came faster than they were read.
func (e *endpoints) unread() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	count := e.unreadBefore
	for sub := range e.open {
		if dropped, err := sub.Dropped(); err == nil {
			count += uint64(dropped)
		}
	}
	return count
}

// setPendingLimits bounds what may wait to be read on one of a number of subscriptions.
func setPendingLimits(sub *nats.Subscription, of int) error {
	count := min(max(allMessages/of, minMessages), intakeMessages)
	return sub.SetPendingLimits(count, min(max(allBytes/of, minBytes), intakeBytes))
}
