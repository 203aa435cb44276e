package journal

import (
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// InUse returns the shards of the generation that is in use.
func (x *Register) InUse() messages.Shards { return x.GetPresent().divided() }

// Earlier returns the shards of the generations that were in use before, the oldest first.
func (x *Register) Earlier() (all []messages.Shards) {
	for _, g := range x.GetFormer() {
		all = append(all, g.divided())
	}
	return all
}

// Next returns the shards of the generation that the change under way leads to; zero: there is no change.
func (x *Register) Next() messages.Shards { return x.GetReshard().GetNext().divided() }

// IsVoided reports whether the change to a generation was given up, so that what it has closed is open again.
func (x *Register) IsVoided(generation uint32) bool {
	return generation > x.GetPresent().GetGeneration() && generation <= x.GetBegun() &&
		generation != x.GetReshard().GetNext().GetGeneration()
}

// Begin returns the register of a change to so many shards, in a new generation.
func (x *Register) Begin(shards uint32, coordinator, host string, atMs int64) *Register {
	n := proto.CloneOf(x)
	n.Begun = max(x.GetBegun(), x.GetPresent().GetGeneration()) + 1
	n.Reshard = &Reshard{
		Next: &Generation{Generation: n.GetBegun(), Shards: shards}, Coordinator: coordinator, Host: host, AtMs: atMs,
	}
	return n
}

// Done returns the register behind the change under way.
func (x *Register) Done() *Register {
	n := proto.CloneOf(x)
	n.Former, n.Present, n.Reshard = append(n.Former, n.Present), n.GetReshard().GetNext(), nil
	return n
}

// Void returns the register without the change under way.
func (x *Register) Void() *Register {
	n := proto.CloneOf(x)
	n.Reshard = nil
	return n
}

// NewGeneration returns what a record has of a generation.
func NewGeneration(s messages.Shards) *Generation {
	return &Generation{Generation: s.Generation, Shards: s.Count}
}

func (g *Generation) divided() messages.Shards {
	return messages.Shards{Generation: g.GetGeneration(), Count: g.GetShards()}
}
