package holdfast

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages"
)

const (
	// maxSubscribed bounds the subscriptions of one client. Further leases rely on their renewals.
	maxSubscribed = 10_000
	// maxEvents bounds the events that wait to be looked at.
	maxEvents = 4096
)

// ends listens for the ends of leases that this client holds: one goroutine for all of them, and a
// subscription for each resource. An event is a hint only, because others may be allowed to publish on the
// same subject: the service is asked, and its answer decides. A missed event costs time, as the next
// renewal finds the same out.
type ends struct {
	c *core
	// refused: NATS has refused a subscription; the client makes no more.
	refused atomic.Bool

	mu sync.Mutex
	// followers are those that were added, by their key. changed are the keys whose subscription may have to be
	// made or removed.
	followers map[string][]follower
	changed   map[string]struct{}
	started   bool
	posted    chan struct{}

	// These belong to the goroutine. proven: NATS has accepted a subscription.
	subscriptions map[string]*nats.Subscription
	events        chan *nats.Msg
	proven        bool
}

// follower learns of the ends of leases of a key: [hints].
type follower interface {
	// listening is called when the events are subscribed to, received when one says that the lease of a token has
	// ended.
	listening()
	received(token Token)
}

func newEnds(c *core) *ends {
	return &ends{
		c: c, followers: make(map[string][]follower), changed: make(map[string]struct{}),
		posted: make(chan struct{}, 1), subscriptions: make(map[string]*nats.Subscription),
	}
}

// add subscribes to the ends of the leases of a key. It returns false if the client does not.
func (e *ends) add(key string, f follower) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.refused.Load() || len(e.followers) >= maxSubscribed || e.c.life.Err() != nil {
		return false
	}
	e.followers[key] = append(e.followers[key], f)
	e.change(key)
	if !e.started {
		e.started = true
		e.c.goroutines.Go(e.run)
	}
	return true
}

// remove unsubscribes.
func (e *ends) remove(key string, f follower) {
	e.mu.Lock()
	defer e.mu.Unlock()
	left := slices.DeleteFunc(e.followers[key], func(other follower) bool { return other == f })
	if e.followers[key] = left; len(left) == 0 {
		delete(e.followers, key)
	}
	e.change(key)
}

// change is called with mu held.
func (e *ends) change(key string) {
	e.changed[key] = struct{}{}
	select {
	case e.posted <- struct{}{}:
	default:
	}
}

// reconnected looks at every lease, since events may have been missed.
func (e *ends) reconnected() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for key := range e.followers {
		e.change(key)
	}
}

// run is the goroutine. It may block on the connection, which delays hints and nothing else.
func (e *ends) run() {
	e.events = make(chan *nats.Msg, maxEvents)
	defer e.unsubscribeAll()
	for {
		select {
		case m := <-e.events:
			e.received(m)
		case <-e.posted:
			e.update()
		case <-e.c.life.Done():
			return
		}
	}
}

// received passes an event that ends a lease on to the followers.
func (e *ends) received(m *nats.Msg) {
	if !endsLease(m) {
		return
	}
	token, err := messages.ParseToken(m.Header.Get(messages.HeaderToken))
	if err != nil {
		return
	}
	for _, f := range e.of(strings.TrimPrefix(m.Subject, e.c.cfg.prefix.Event(""))) {
		f.received(token)
	}
}

// endsLease reports whether a published event is the end of a lease.
func endsLease(m *nats.Msg) bool {
	switch m.Header.Get(messages.HeaderEvent) {
	case messages.Event_RELEASED.String(), messages.Event_EXPIRED.String(), messages.Event_BROKEN.String():
		return true
	}
	return false
}

func (e *ends) of(key string) []follower {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.followers[key])
}

// update makes and removes subscriptions.
func (e *ends) update() {
	e.mu.Lock()
	changed := e.changed
	e.changed = make(map[string]struct{})
	e.mu.Unlock()
	for key := range changed {
		followers, s := e.of(key), e.subscriptions[key]
		switch {
		case len(followers) == 0 && s != nil:
			e.unsubscribe(key)
		case len(followers) > 0 && s == nil:
			e.subscribe(key)
		}
		for _, f := range followers {
			if e.subscriptions[key] != nil {
				f.listening()
			}
		}
	}
}

// subscribe subscribes to one key. NATS reports a refusal to the application's error handler, so the
// first subscription is tried alone: a user without the right gets one error and not one for each lock.
func (e *ends) subscribe(key string) {
	if e.refused.Load() {
		return
	}
	s, err := e.c.nc.ChanSubscribe(e.c.cfg.prefix.Event(key), e.events)
	if err != nil {
		return // the connection is closed
	}
	e.subscriptions[key] = s
	if !e.proven {
		ctx, cancel := context.WithTimeout(e.c.life, e.c.cfg.timeout)
		e.proven = e.c.nc.FlushWithContext(ctx) == nil // waits until NATS has processed the first subscription
		cancel()
	}
	if e.refusal(e.c.nc.LastError()) {
		e.refused.Store(true)
		e.unsubscribeAll() // so that it is not asked for again after a reconnection
	}
}

// refusal reports whether NATS has refused a subscription to events, or any because they are too many.
func (e *ends) refusal(err error) bool {
	return errors.Is(err, nats.ErrMaxSubscriptionsExceeded) ||
		errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), `"`+e.c.cfg.prefix.Event(""))
}

func (e *ends) unsubscribe(key string) {
	_ = e.subscriptions[key].Unsubscribe() // fails if the connection is closed, which does as well
	delete(e.subscriptions, key)
}

func (e *ends) unsubscribeAll() {
	for key := range e.subscriptions {
		e.unsubscribe(key)
	}
}
