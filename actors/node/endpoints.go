package node

import (
	"log/slog"
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
	intakeMessages, allMessages, leastMessages = 1 << 16, 1 << 21, 1 << 12
	intakeBytes, allBytes, leastBytes          = 32 << 20, 1 << 30, 1 << 20
)

// endpoints are the subscriptions on which requests arrive. It is safe for concurrent use.
type endpoints struct {
	nc      *nats.Conn
	prefix  messages.Prefix
	log     *slog.Logger
	service *service.Service
	// request handles what arrives at direct endpoints, of which direct keeps count.
	request nats.MsgHandler
	direct  *service.Endpoint
	// most is how many subscriptions there may be.
	most     int
	warnings *rate.Sometimes

	mu sync.Mutex
	// shards are the direct endpoints, open all subscriptions.
	shards map[uint32]*nats.Subscription
	open   map[*nats.Subscription]bool
	// unreadBefore counts what was lost on subscriptions that are closed.
	unreadBefore uint64
}

func newEndpoints(cfg Config, s *service.Service, request nats.MsgHandler) *endpoints {
	return &endpoints{
		nc: cfg.Intake, prefix: cfg.Prefix, log: cfg.Log, service: s, request: request,
		direct: s.Endpoint("direct", string(cfg.Prefix)+".shard.*.>", ownerGroup),
		most:   len(messages.Operations) + 2 + int(cfg.Shards), warnings: onceASecond(),
		shards: make(map[uint32]*nats.Subscription), open: make(map[*nats.Subscription]bool),
	}
}

// add opens an endpoint that all nodes share.
func (e *endpoints) add(name, subject string, handle nats.MsgHandler) error {
	sub, err := e.nc.QueueSubscribe(subject, serviceName, e.service.Endpoint(name, subject, serviceName).Counted(handle))
	if err == nil {
		err = e.keep(sub)
	}
	return err
}

// keep bounds and counts what a subscription may lose.
func (e *endpoints) keep(sub *nats.Subscription) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open[sub] = true
	return setPendingLimits(sub, e.most)
}

// setDirect opens or closes a shard's direct endpoint, and reports whether that was done. While a shard moves, two
// nodes have it open, as one queue group: a request goes to one of them and not to both. An endpoint that is closed
// still handles what has arrived before.
func (e *endpoints) setDirect(shard uint32, open bool) bool {
	if !open {
		e.closeDirect(shard)
		return true
	}
	sub, err := e.nc.QueueSubscribe(e.prefix.Shard(shard), ownerGroup, e.direct.Counted(e.request))
	if err == nil {
		err = e.keep(sub)
	}
	if err != nil {
		e.warnings.Do(func() { e.log.Warn("cannot open the direct endpoint", "shard", shard, "error", err) })
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shards[shard] = sub
	return true
}

func (e *endpoints) closeDirect(shard uint32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	sub := e.shards[shard]
	if sub == nil {
		return
	}
	if dropped, err := sub.Dropped(); err == nil {
		e.unreadBefore += uint64(dropped)
	}
	_ = sub.Drain() // it fails if the connection is gone, and the subscription with it
	delete(e.shards, shard)
	delete(e.open, sub)
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
	return sub.SetPendingLimits(min(max(allMessages/of, leastMessages), intakeMessages), min(max(allBytes/of, leastBytes), intakeBytes))
}
