package simulation

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// useOne increments a counter under its lock.
func (x *worker) useOne(c *counter) {
	ttl := x.length()
	var options []holdfast.AcquireOption
	if x.chance(3) {
		options = append(options, holdfast.NoRenewal())
	}
	l := x.acquire(c, ttl, false, options...)
	if l == nil {
		return
	}
	x.count("acquired")
	defer x.release(c, l)
	lost := l.Lost()
	if !x.increment([]use{under(c, l)}, func() { x.hold(c, l, ttl) }) || l.Valid() {
		return
	}
	x.count("lost")
	select {
	case <-lost:
	case <-time.After(2 * time.Second):
		x.note(fmt.Errorf("%v is lost for two seconds, and nobody has been informed", l))
	}
}

// useSeveral increments several counters under all of their locks.
func (x *worker) useSeveral() {
	ttl := x.length()
	var names []string
	some := x.dice.Perm(len(x.counters))[:2+x.dice.IntN(2)]
	for _, i := range some {
		names = append(names, x.counters[i].name)
	}
	ctx, cancel := x.acquiring()
	defer cancel()
	set, err := x.client.AcquireAll(ctx, names, holdfast.TTL(ttl), x.waits())
	if err != nil {
		x.count("all: " + outcomeOf(err))
		return
	}
	x.count("acquired all")
	locks := set.All() // in an order of their own
	var uses []use
	for _, i := range some {
		for _, l := range locks {
			if c := x.counters[i]; c.name == l.Resource() {
				x.acquired(c, l, false)
				uses = append(uses, under(c, l))
			}
		}
	}
	x.increment(uses, func() { pass(x.upTo(2 * ttl)) })
	for _, u := range uses {
		_ = x.take(u.counter, u.by.Token())
	}
	// The client releases a set of which a lock is lost. Who calls Release meanwhile waits for a mutex, and virtual time
	// does not pass then.
	if set.Context().Err() == nil {
		x.ends("release all", set.Release)
	}
}

// hold takes its time under a lock. It does not look whether it has lost the lock.
func (x *worker) hold(c *counter, l *holdfast.Lock, ttl time.Duration) {
	longest := 2 * ttl
	switch x.dice.IntN(8) {
	case 0, 1:
		for range 1 + x.dice.IntN(4) { // one length after the other: each counts until the next one does
			longest = x.length()
			x.extend(l, longest)
			pass(x.upTo(longest / 4))
		}
		longest += longest / 4
	case 2:
		_ = x.take(c, l.Token())
		if x.releaseAsAnother(l) {
			x.count("released by another process")
			x.mustNotice(l, ttl, "released by another process")
		}
	case 3:
		x.describe(c, l)
	}
	pass(x.upTo(longest))
}

// describe sets the metadata of a lock. Everybody sees them while it is held.
func (x *worker) describe(c *counter, l *holdfast.Lock) {
	ctx, cancel := context.WithTimeout(x.ctx, 5*time.Second)
	defer cancel()
	text := fmt.Sprint(x.dice.Uint64())
	if err := l.Set(ctx, map[string]string{"note": text}); err != nil {
		x.count("set: " + outcomeOf(err))
		return
	}
	x.count("set")
	s, err := x.client.Get(ctx, c.name)
	x.mu.Lock()
	defer x.mu.Unlock()
	if err == nil && c.holds(l) && (s.Token != l.Token() || s.Metadata["note"] != text) {
		x.note(fmt.Errorf("%v is held with the note %q, and a get shows %+v", l, text, s.Lease))
	}
}

func (x *worker) extend(l *holdfast.Lock, ttl time.Duration) {
	ctx, cancel := context.WithTimeout(x.ctx, time.Second)
	defer cancel()
	if err := l.Extend(ctx, ttl); err != nil {
		x.count("extend: " + outcomeOf(err))
		return
	}
	x.count("extended")
}

// releaseAsAnother releases a lock as another process of its owner does, and reports whether the service has done it.
func (x *worker) releaseAsAnother(l *holdfast.Lock) bool {
	payload := request.Encode(&messages.ReleaseRequest{Owner: l.Owner(), Token: uint64(l.Token()), Secret: secret})
	key, err := messages.EncodeKey(l.Resource())
	if err != nil {
		panic(err) // it has a key
	}
	answer, err := x.nc.Request(messages.DefaultPrefix.Operation(messages.OpRelease, key), payload, time.Second)
	if err != nil {
		return false
	}
	reply := &messages.Reply{}
	return messages.DecodeReply(messages.Protobuf, answer.Data, reply) == nil &&
		reply.GetStatus() == messages.Status_RELEASED
}

// reenter acquires a lock twice: both are one lease, and the second one ends it.
func (x *worker) reenter() {
	c := x.reentered
	outer := x.acquire(c, x.length(), false, holdfast.Reentrant())
	if outer == nil {
		return
	}
	x.increment([]use{under(c, outer)}, func() {
		ctx, cancel := context.WithTimeout(x.ctx, 5*time.Second)
		defer cancel()
		inner, err := x.client.Acquire(ctx, c.name, holdfast.Reentrant(), holdfast.TTL(x.length()))
		if err != nil {
			x.count("reenter: " + outcomeOf(err))
			return
		}
		x.count("reentered")
		if inner.Token() != outer.Token() && outer.Valid() {
			x.note(fmt.Errorf("%v is acquired once more, as %v", outer, inner))
		}
		pass(x.upTo(lengths[1]))
		x.ends("release of a reentrant lock", inner.Release)
		pass(x.upTo(lengths[1]))
	})
	x.release(c, outer)
}
