package assignment

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/node/routing"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// orphanAfter is how long a shard is without an owner before the next node in line opens it although it is
	// assigned to another; the node behind opens it after twice that.
	orphanAfter = 3 * time.Second
	// failingFor is how long a node that could not open a shard, or not commit to it, leaves it to others at first.
	failingFor = 30 * time.Second
	// handOverLimit bounds how long a shard that is handed over may take to store what it has decided.
	handOverLimit = 5 * time.Second
	// holdLimit is how long a request waits for its shard to have an owner: as long as it takes to notice that the
	// last owner is lost.
	holdLimit = silenceLimit
)

// round is what shards are reconciled by: one point in time, and what is known then.
type round struct {
	*view
	assigned *assignment
	now      lease.Instant
	// participating: the node has listened for long enough. leaving: it hands all shards over.
	participating, leaving bool
	// othersCommit: another node commits now.
	othersCommit bool
	// closing is the generation for which the journals are to be closed; its count is 0 if they are not.
	closing messages.Shards
}

// isAssigned reports whether a shard is assigned to this node.
func (r *round) isAssigned(shard uint32) bool { return r.assigned.owner[shard] == r.self() }

// assignee returns the member to which a shard is assigned, nil if there is none.
func (r *round) assignee(shard uint32) *member { return r.members.of[r.assigned.owner[shard]] }

// reconciler moves one shard of a node towards its assignment. It belongs to the controller's goroutine.
type reconciler struct {
	*state
	number uint32
	cfg    *Config
	of     Generation
	router *routing.Router
	// changed is called when the shard's standing has changed.
	changed func()
	// work has the goroutines that stop shards; each sends its shard's number to ended.
	work  *sync.WaitGroup
	ended chan<- *reconciler
}

// reconcile takes the next step, if one is due: open the shard, verify its ownership, hand it over or give it up.
func (c *reconciler) reconcile(ctx context.Context, r *round) {
	owner, epoch := r.claims[c.number].owner, r.claims[c.number].epoch
	c.unowned = since(r.participating && owner == nil && c.shard == nil, c.unowned, r.now)
	if owner != nil {
		c.yielded = 0
	}
	c.outdone = since(r.othersCommit && c.isStalled(r.now), c.outdone, r.now) // mutant: StalledOwnerGivesUpAlone
	switch {
	case c.shard == nil:
		if owner == nil && c.shouldOpen(r) {
			c.shard, c.backoff = c.of.StartShard(c.number, c.changed), 0
		}
	case c.stopping:
	case c.standing() >= actors.Draining:
		c.depose(r.now)
		c.cfg.Log.Info("shard lost to another node", "shard", c.number, "backoff", c.backoff.Sub(r.now))
		c.stop(ctx, r)
	case r.leaving:
		c.stop(ctx, r)
	case r.closing.Count > 0 && c.standing() == actors.Open:
		c.stop(ctx, r)
	case c.isStuck(r.now):
		if r.assigned.hasAlternative(c.number, r.self()) {
			c.cfg.Log.Warn("opening the shard makes no progress; other nodes may try", "shard", c.number,
				"no_progress_for", r.now.Sub(c.progressed), "records_read", c.records)
			c.fail(r.now)
			c.stop(ctx, r)
		}
	// mutant: StalledOwnerStays
	case hasLasted(c.outdone, outdoneLimit, r.now) && r.assigned.hasAlternative(c.number, r.self()):
		c.cfg.Log.Warn(
			"the shard is stalled here, and JetStream confirms commits of other nodes; other nodes may take it",
			"shard", c.number, "unconfirmed_for", r.now.Sub(c.shard.Unconfirmed()))
		c.fail(r.now)
		c.stop(ctx, r)
	case c.standing() == actors.Opening && c.shouldStopOpening(r):
		c.yielded++
		c.stop(ctx, r)
	case c.standing() == actors.Open && owner != nil && epoch > c.shard.Epoch():
		c.shard.Barrier()
	case c.standing() == actors.Open && c.shouldHandOver(r):
		c.cfg.Log.Info("handing over the shard", "shard", c.number, "to", r.assignee(c.number).GetNode())
		c.stop(ctx, r)
	}
}

// shouldOpen reports whether this node should open a shard that has no owner.
func (c *reconciler) shouldOpen(r *round) bool {
	if !r.participating || r.leaving || r.isCutOff(r.now) || r.now < c.backoff || len(r.claims[c.number].opening) > 0 {
		return false
	}
	if c.closed != 0 && c.closed == r.closing.Generation {
		return false
	}
	if r.isAssigned(c.number) {
		return true
	}
	rank := max(r.assigned.rank(c.number, r.self()), 1)
	// A node that does not receive the owner, and receives the node to which the shard is assigned, would open and stop
	// for ever.
	wait := orphanAfter * time.Duration(rank) << min(c.yielded, 6)
	return c.failing <= r.now && hasLasted(c.unowned, wait, r.now)
}

// shouldHandOver reports whether the shard is assigned to another node, and that node agrees: what the two receive of
// the deployment may differ.
func (c *reconciler) shouldHandOver(r *round) bool {
	x := r.assignee(c.number)
	return x != nil && x.GetIncarnation() != r.self() && !r.isCutOff(r.now) && !x.isSuspected(r.now) &&
		!x.GetJoining() && x.assigned[c.number]
}

// shouldStopOpening reports whether another node should open the shard instead: the one to which it is assigned, as
// long as little has been read here, because after a hand-over everything is read again; or one with a higher score
// that is opening it as well, because one reader is enough. Nodes that begin to participate at the same time open
// shards before they receive one another's announcements.
func (c *reconciler) shouldStopOpening(r *round) bool {
	if r.isCutOff(r.now) || r.isAssigned(c.number) {
		return false
	}
	if c.shouldHandOver(r) && !hasLasted(c.opening, settleAfter, r.now) {
		return true
	}
	own := score(r.base.GetNode(), c.number)
	return slices.ContainsFunc(r.claims[c.number].opening, func(x *member) bool {
		return !x.isSuspected(r.now) && (x.assigned[c.number] || score(x.GetNode(), c.number) > own)
	})
}

// stop hands the shard over, or frees the resources of one that was deposed.
func (c *reconciler) stop(ctx context.Context, r *round) {
	c.stopping = true
	s, transfer := c.shard, c.leadershipTransfer(r)
	c.transferring = transfer != nil
	finish := s.HandOver
	switch next := r.closing; {
	case next.Count > 0 && c.standing() == actors.Open:
		c.closed = next.Generation
		finish = func(ctx context.Context) error { return s.CloseJournal(ctx, next) }
	case len(r.assigned.candidates) == 0:
		finish = s.Close // no node can take it
	}
	c.finish(ctx, s, finish, transfer)
}

// finish ends a shard on a goroutine of its own.
func (c *reconciler) finish(ctx context.Context, s *actors.Shard, finish func(context.Context) error,
	transfer func(context.Context)) {
	c.work.Go(func() {
		began := c.clock()
		limited, cancel := context.WithTimeout(ctx, handOverLimit)
		defer cancel()
		if err := finish(limited); err != nil {
			c.cfg.Log.Warn("shard was not handed over cleanly", "shard", c.number, "error", err)
		}
		if transfer != nil {
			transfer(limited)
		}
		c.cfg.Log.Info("shard stopped", "shard", c.number, "epoch", s.Epoch(), "took", c.clock().Sub(began))
		c.cfg.Stopped(s)
		select {
		case c.ended <- c:
		case <-ctx.Done():
		}
	})
}

// leadershipTransfer returns what moves the leadership of the bucket of an open shard to its successor; nil if it
// stays. It must run after the last append here is stored, because a leader that steps down drops appends that are
// under way, and before the successor's first append.
func (c *reconciler) leadershipTransfer(r *round) func(context.Context) {
	successor := r.assignee(c.number)
	if c.cfg.TransferLeadership == nil || successor == nil || c.standing() != actors.Open || r.closing.Count > 0 {
		return nil
	}
	to := successor.GetNode()
	return func(ctx context.Context) {
		if err := c.cfg.TransferLeadership(ctx, c.number, to); err != nil {
			c.cfg.Log.Debug("leadership transfer failed", "shard", c.number, "to", to, "error", err)
		}
	}
}

// route sets where the shard's requests go. The direct endpoint is open from the beginning of an opening until
// another node has the shard, so that requests wait here and are not lost. The next nodes in line open their
// endpoints as soon as the owner is suspected.
func (c *reconciler) route(r *round) {
	var local *actors.Shard
	var remote uint64
	switch owner := r.claims[c.number].owner; {
	case c.standing() == actors.Open, c.standing() == actors.Draining:
		local = c.shard
	case c.shard == nil && owner != nil && !owner.isSuspected(r.now) && !r.isCutOff(r.now):
		remote = owner.GetIncarnation()
	}
	open := c.shard != nil || remote == 0 && (c.endpoint && !hasLasted(c.unowned, holdLimit, r.now) || c.isNext(r))
	if open && !c.endpoint {
		c.endpoint = c.of.Endpoint(c.number, true)
	}
	c.router.SetOwner(local, remote)
	if c.standing() == actors.Opening {
		c.router.SetReason(c.shard.Reason())
	}
	if !open && c.endpoint {
		c.of.Endpoint(c.number, false)
		c.endpoint = false
	}
}

// isNext reports whether this node is one of the first two in line to own the shard.
func (c *reconciler) isNext(r *round) bool {
	return r.participating && !r.leaving && !r.isCutOff(r.now) && r.assigned.rank(c.number, r.self()) <= 1
}

func (c *reconciler) clock() lease.Instant { return c.cfg.Clock.Now().Instant }
