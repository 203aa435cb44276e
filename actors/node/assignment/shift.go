package assignment

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/messages"
)

// shift is the change to another generation of shards.
type shift struct {
	to  messages.Shards
	use Generation
}

// CloseJournals has each journal that the node owns closed for another generation, until it is called with a count of 0.
// Requests wait meanwhile, for longer than at a change of owner.
func (c *Controller) CloseJournals(next messages.Shards) {
	if *c.closing.Load() != next {
		c.closing.Store(&next)
		c.change()
	}
}

// Shift goes on with another generation of shards, and returns when that has begun. What the node still has of the
// present one is stopped.
func (c *Controller) Shift(to messages.Shards, use Generation) {
	select {
	case c.shifts <- shift{to, use}:
	case <-c.done:
	}
}

func (c *Controller) shift(ctx context.Context, s shift) {
	for _, old := range c.shards {
		if old.shard != nil && !old.stopping {
			old.stopping = true
			old.finish(ctx, old.shard, old.shard.HandOver, nil)
		}
	}
	c.cfg.Node = proto.CloneOf(c.cfg.Node)
	c.cfg.Node.Generation, c.cfg.Node.Shards = s.to.Generation, s.to.Count
	c.cfg.Generation = s.use
	c.view.base, c.view.claims, c.view.shifted = c.cfg.Node, make([]claim, s.to.Count), c.now()
	for _, x := range c.view.members.sorted {
		x.update(stripped(x.Announcement), x.latest)
	}
	c.closing.Store(&messages.Shards{})
	c.patient = c.now().Add(actors.LastingAfter)
	c.assigned = newAssignment(s.to.Count, nil)
	c.addShards()
}
