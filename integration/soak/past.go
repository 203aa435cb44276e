package soak

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// pastRequest is an acquire of the client that is over: its lease has ended or will, or it was withdrawn.
// A copy of it takes no lock while the owner of the shard remembers it.
type pastRequest struct {
	*resource
	*messages.AcquireRequest
	// grant is what it was granted; nil if it was withdrawn.
	grant *grant
	// since is before its end. A node that was restarted after that may know nothing of it.
	since instant
}

const (
	// mostPast is how many requests a client may repeat late.
	mostPast = 16
	// remembered is for how long an owner of a shard remembers a request that has ended.
	remembered = time.Minute
)

// keep lets a request be repeated late.
func (c *client) keep(p pastRequest) {
	c.past = append(c.past, p)
	c.past = c.past[max(0, len(c.past)-mostPast):]
}

// repeatLate sends a copy of a request that is over, most often of the latest.
func (c *client) repeatLate(ctx context.Context) error {
	if len(c.past) == 0 {
		return nil
	}
	i := len(c.past) - 1
	if c.dice.chance(50) {
		i = c.dice.IntN(len(c.past))
	}
	p := c.past[i]
	q, err := c.begin(ctx, p.resource, messages.OpAcquire, p.AcquireRequest, waitOf(p.AcquireRequest))
	if err != nil {
		return err
	}
	a, err := c.await(ctx, q, 0)
	if err != nil {
		return err
	}
	c.judgeLate(q, p, a)
	if a.GetStatus() != messages.Status_GRANTED {
		return nil
	}
	g := c.got(q, p.AcquireRequest, a)
	err = c.release(ctx, p.resource, g)
	p.ended(g)
	return err
}

// judgeLate checks the answer to a late copy, unless the node was restarted in between or may have forgotten.
func (c *client) judgeLate(q *call, p pastRequest, a answer) {
	switch {
	case a.at >= c.restartAfter(p.since) || a.at-p.since >= remembered || a.GetStatus() == messages.Status_OVERLOADED:
	case slices.Contains(p.outcomes(), a.GetStatus()):
		if p.grant == nil {
			c.lateWithdrawn.Add(1)
		} else {
			c.lateEnded.Add(1)
		}
	case p.grant == nil:
		c.fail(q, "request %s was withdrawn before, but its copy was answered %s", p.GetRequestId(), a)
	case p.grant.over || a.GetStatus() != messages.Status_GRANTED || a.GetLease().GetToken() != p.grant.token:
		c.fail(q, "request %s had token %d before, but its copy was answered %s", p.GetRequestId(), p.grant.token, a)
	}
}

// outcomes are what a late copy is answered.
func (p pastRequest) outcomes() []messages.Status {
	if p.grant == nil {
		return []messages.Status{messages.Status_CANCELLED}
	}
	return []messages.Status{messages.Status_RELEASED, messages.Status_EXPIRED}
}
