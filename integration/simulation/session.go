package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/messages"
)

// beInSession lets another process release a lock that is in a session with others. Some come and go, and answers take
// so long that one or the other is always coming or going while a keep is under way. The lock is too short for its
// client to receive events of it.
func (x *worker) beInSession() {
	if x.trial.Capacity.Held > 0 {
		return // there is no room for them
	}
	const ttl, others, slow = time.Second, 6, 100 * time.Millisecond
	names := x.namesIn(x.dice.Uint32N(x.Shards), fmt.Sprint("session.", x.dice.Uint32(), "."), others+1)
	over := make(chan struct{})
	var beside sync.WaitGroup
	defer beside.Wait()
	defer close(over)
	come := x.chance(2)
	if come {
		x.do(func() { x.Network.Slow(x.name, slow) })
		defer x.do(func() { x.Network.Slow(x.name, -slow) })
	}
	for i := range others {
		other := *x
		other.dice = rand.New(rand.NewPCG(x.dice.Uint64(), 0))
		beside.Go(func() { other.beBeside(names[i], ttl, come, over) })
	}
	ctx, cancel := context.WithTimeout(x.ctx, 5*time.Second)
	defer cancel()
	l, err := x.client.Acquire(ctx, names[others], holdfast.TTL(ttl), holdfast.MaxWait(time.Second))
	if err != nil {
		return
	}
	defer x.ends("release in a session", l.Release)
	pass(2*ttl + x.upTo(ttl))
	if l.Valid() && x.releaseAsAnother(l) {
		x.count("released by another process, in a session")
		x.mustNotice(l, ttl, "released by another process, in a session")
	}
}

// beBeside holds a lock until others are over, or one lock after the other, each of which leaves the session when it
// has come into it.
func (x *worker) beBeside(name string, ttl time.Duration, come bool, over <-chan struct{}) {
	for pass(x.upTo(ttl)); ; {
		ctx, cancel := context.WithTimeout(x.ctx, 5*time.Second)
		l, err := x.client.Acquire(ctx, name, holdfast.TTL(ttl), holdfast.MaxWait(time.Second))
		cancel()
		switch {
		case err != nil:
			pass(ttl / 4)
		case come:
			pass(ttl/2 + x.upTo(ttl/4))
			x.ends("release in a session", l.Release)
		default:
			<-over
			x.ends("release in a session", l.Release)
		}
		select {
		case <-over:
			return
		default:
		}
	}
}

// namesIn returns names of resources that begin like that, of a shard of those with which the trial has begun.
func (w *world) namesIn(shard uint32, prefix string, n int) []string {
	return namesIn(shard, w.Shards, prefix, n)
}

// present returns how many shards there are by now.
func (w *world) present() (shards uint32) {
	w.do(func() { shards = w.outcome.Journal.Shards() })
	return shards
}

// namesIn returns names of resources of one of so many shards that begin like that.
func namesIn(shard, shards uint32, prefix string, n int) (names []string) {
	for i := 0; len(names) < n; i++ {
		name := fmt.Sprint(prefix, i)
		if key, err := messages.EncodeKey(name); err == nil && messages.ShardOf(key, shards) == shard {
			names = append(names, name)
		}
	}
	return names
}
