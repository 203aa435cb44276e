package node

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
)

// attend does for one shard what is to be done.
func (w *warden) attend(ctx context.Context, shard uint32, c *custody, now lease.Instant) {
	owner, epoch := w.claims[shard].owner, w.claims[shard].epoch
	c.unowned = since(owner == nil && c.shard == nil, c.unowned, now)
	switch {
	case c.shard == nil:
		if owner == nil && w.shouldOpen(shard, c, now) {
			c.shard, c.rest = w.start(shard, w.change), 0
		}
	case c.ending:
	case c.standing() >= actors.Leaving:
		c.lose(now)
		w.log.Info("another node has taken the shard", "shard", shard, "calm_for", c.rest.Sub(now))
		w.end(ctx, shard, c)
	case w.leaving:
		w.end(ctx, shard, c)
	case c.stuck(now):
		if w.wanted.able(shard, w.self()) {
			w.log.Warn("the shard cannot be opened here: no progress; other nodes may try", "shard", shard,
				"no_progress_for", now.Sub(c.progressed), "records_read", c.records, "stand_back_for", failingFor)
			c.failing = now.Add(failingFor)
			w.end(ctx, shard, c)
		}
	case c.standing() == actors.Opening && w.shouldStopOpening(shard, c, now):
		w.end(ctx, shard, c)
	case c.standing() == actors.Open && owner != nil && epoch > c.shard.Epoch():
		c.shard.Prove()
	case c.standing() == actors.Open && w.shouldLetGo(shard, now):
		w.log.Info("handing the shard over", "shard", shard, "to", w.members.of[w.wanted.owner[shard]].GetNode())
		w.end(ctx, shard, c)
	}
}

// shouldOpen reports whether a shard that nobody owns is for this node to open.
func (w *warden) shouldOpen(shard uint32, c *custody, now lease.Instant) bool {
	if !w.taking || w.leaving || w.deaf(now) || now < c.rest || len(w.claims[shard].opening) > 0 {
		return false
	}
	if w.wanted.owner[shard] == w.self() {
		return true
	}
	rank := max(w.wanted.rank(shard, w.self()), 1)
	return c.failing <= now && has(c.unowned, orphanAfter*time.Duration(rank), now)
}

// shouldLetGo reports whether another node should own the shard, and says so itself. Both have to find
// that: what each hears of the others may differ.
func (w *warden) shouldLetGo(shard uint32, now lease.Instant) bool {
	x := w.members.of[w.wanted.owner[shard]]
	return x != nil && x.GetIncarnation() != w.self() && !w.deaf(now) && !x.doubtful(now) &&
		x.wants[shard]
}

// shouldStopOpening reports whether the shard is better opened by another node: by the one that should own
// it, as long as little has been read here, because a hand-over later means to read everything again; or by
// one with a higher score that is opening it as well, because only one needs to read. Nodes that take part
// at the same time begin before they have heard one another.
func (w *warden) shouldStopOpening(shard uint32, c *custody, now lease.Instant) bool {
	if w.deaf(now) || w.wanted.owner[shard] == w.self() {
		return false
	}
	if w.shouldLetGo(shard, now) && !has(c.opening, settleAfter, now) {
		return true
	}
	own := score(w.base.GetNode(), shard)
	return slices.ContainsFunc(w.claims[shard].opening, func(x *member) bool {
		return !x.doubtful(now) && (x.wants[shard] || score(x.GetNode(), shard) > own)
	})
}

// end hands the shard over, or frees what is left of one that was deposed.
func (w *warden) end(ctx context.Context, shard uint32, c *custody) {
	c.ending = true
	s, cede := c.shard, w.cession(shard, c)
	c.ceding = cede != nil
	finish := s.HandOver
	if len(w.wanted.candidates) == 0 {
		finish = s.Close // there is nobody to hand it to
	}
	w.work.Go(func() {
		began := w.now()
		limited, cancel := context.WithTimeout(ctx, handOverLimit)
		defer cancel()
		if err := finish(limited); err != nil {
			w.log.Warn("the shard was not handed over cleanly", "shard", shard, "error", err)
		}
		if cede != nil {
			cede(limited)
		}
		w.log.Info("shard stopped", "shard", shard, "epoch", s.Epoch(), "took", w.now().Sub(began))
		w.retired(s)
		select {
		case w.ended <- shard:
		case <-ctx.Done():
		}
	})
}

// cession returns how the leadership of the bucket of a shard that is open here goes to the next owner,
// nil if it does not. It goes when the last append here is stored and before the first one there, so that
// no append is under way that a leader who steps down would drop.
func (w *warden) cession(shard uint32, c *custody) func(context.Context) {
	heir := w.members.of[w.wanted.owner[shard]]
	if w.cede == nil || heir == nil || c.standing() != actors.Open {
		return nil
	}
	to := heir.GetNode()
	return func(ctx context.Context) {
		if err := w.cede(ctx, shard, to); err != nil {
			w.log.Debug("the leadership of a bucket stays behind", "shard", shard, "error", err)
		}
	}
}

// direct says where the shard's requests go, and keeps its door open from the beginning of an opening
// until somebody else has the shard, so that they wait here rather than get lost. Those who are next to own
// it open their doors as soon as its owner is in doubt.
func (w *warden) direct(shard uint32, c *custody, now lease.Instant) {
	var here *actors.Shard
	var there uint64
	switch owner := w.claims[shard].owner; {
	case c.standing() == actors.Open, c.standing() == actors.Leaving:
		here = c.shard
	case c.shard == nil && owner != nil && !owner.doubtful(now) && !w.deaf(now):
		there = owner.GetIncarnation()
	}
	open := c.shard != nil || there == 0 && (c.door && !has(c.unowned, holdLimit, now) || w.isNext(shard, now))
	if open && !c.door {
		c.door = w.door(shard, true)
	}
	w.posts[shard].lead(here, there)
	if !open && c.door {
		w.door(shard, false)
		c.door = false
	}
}

// isNext reports whether the node is one of the first two in line to own a shard.
func (w *warden) isNext(shard uint32, now lease.Instant) bool {
	return w.taking && !w.leaving && !w.deaf(now) && w.wanted.rank(shard, w.self()) <= 1
}
