package node

import (
	"sync/atomic"

	"github.com/holdfast-io/holdfast/actors/node/routing"
	"github.com/holdfast-io/holdfast/messages"
)

// generation is how the node divides all resources into shards at present, and where the requests for each shard go.
type generation struct {
	messages.Shards
	routers routing.Table
	// former are the generations before it, the oldest first.
	former []messages.Shards
}

// present is the generation in use. It is replaced as a whole, and what has the one before it goes on with that: its
// routers send to those of the next one.
type present = atomic.Pointer[generation]

// divide returns a generation whose shards have no owners yet.
func (t *transport) divide(of messages.Shards, former []messages.Shards) *generation {
	g := &generation{Shards: of, former: former}
	// A request that waits for an owner is small, and all shards may lack one at the same time.
	room := min(t.cfg.Tuning.MaxPending, max(4*int(t.gate.capacity.Pending)/int(of.Count), 100))
	for number := range of.Count {
		g.routers = append(g.routers, routing.NewRouter(of.Shard(number), room, t.cfg.Clock, t))
	}
	return g
}

// directSubjects returns how many shards have direct subjects, those of former generations included.
func (g *generation) directSubjects() uint32 {
	count := g.Count
	for _, f := range g.former {
		count += f.Count
	}
	return count
}

// serves reports whether a direct subject names a shard of the generation.
func (g *generation) serves(a messages.Address) bool {
	return a.Direct && a.Shard.Generation == g.Generation
}
