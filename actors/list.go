package actors

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Listing asks a shard for leases that are held.
type Listing struct {
	// Pattern is which.
	Pattern messages.Pattern
	// After is the resource to go on from, in the order of the listing; empty for the beginning.
	After string
	// Limit and Bytes bound the answer. It may be a little larger than Bytes.
	Limit, Bytes int
}

// List returns the leases that are held as far as is confirmed, and whether there are more. They are
// in the order of their resources' hashes: that order stays the same whatever happens in the
// meantime, and going on from a resource costs no more than beginning. [ErrUnavailable]: the shard is
// not open.
func (s *Shard) List(ctx context.Context, l Listing) (leases []*messages.Lease, more bool, err error) {
	result := make(chan listed, 1)
	s.system.Root.Send(s.pid, &listing{Listing: l, ctx: ctx, result: result})
	select {
	case r := <-result:
		return r.leases, r.more, r.err
	case <-s.closed:
		return nil, false, fmt.Errorf("shard %d: %w", s.cfg.Shard, ErrEnded)
	case <-ctx.Done():
		return nil, false, fmt.Errorf("%w: shard %d is busy: %w", ErrUnavailable, s.cfg.Shard, context.Cause(ctx))
	}
}

// listAtOnce bounds how many held resources are looked at in one turn of the shard, so that no request
// waits for a whole listing.
const listAtOnce = 1024

type (
	// listing is what is left of a listing to do.
	listing struct {
		Listing
		ctx    context.Context
		result chan<- listed
		// tenure is the one that began with it, nil before.
		tenure *tenure
		// at is the hash from which on pages have yet to be looked at.
		at    uint64
		size  int
		found []*messages.Lease
	}
	listed struct {
		leases []*messages.Lease
		more   bool
		err    error
	}
)

// list does a part of a listing, and leaves the rest to a later turn.
func (s *shardActor) list(ctx actor.Context, l *listing) {
	switch {
	case l.ctx.Err() != nil:
		return // the answer is not awaited any more
	case s.tenure == nil || l.tenure != nil && l.tenure != s.tenure:
		l.result <- listed{err: fmt.Errorf("%w: %s", ErrUnavailable, s.unavailable(s.why))}
		return
	case l.tenure == nil:
		l.tenure = s.tenure
		if l.After != "" {
			l.at = journal.Hash(l.After)
		}
	}
	done, more := s.tenure.ledger.list(l, s.cfg.Clock.Now().Instant)
	if !done {
		ctx.Send(ctx.Self(), l)
		return
	}
	l.result <- listed{leases: l.found, more: more}
}

// place is where a resource stands in the order of a listing.
type place struct {
	hash     uint64
	resource string
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.hash, q.hash), cmp.Compare(p.resource, q.resource))
}

// list looks at some pages, and reports whether the listing is done, and whether there are more leases.
func (l *ledger) list(ask *listing, now lease.Instant) (done, more bool) {
	looked := 0
	last := l.from(ask.at, func(p *page) bool {
		if p.held+len(p.volatile) > 0 {
			looked += len(p.entries) + len(p.volatile)
			more = !ask.take(p, now)
		}
		return more || looked >= listAtOnce
	})
	if last == nil || more {
		return true, more
	}
	ask.at = last.end()
	return ask.at == 0, false
}

// take adds the leases of a page, and reports whether all of them fitted in.
func (l *listing) take(p *page, now lease.Instant) bool {
	for _, at := range p.places(l.after(), l.Pattern) {
		if len(l.found) == l.Limit || l.size >= l.Bytes {
			return false
		}
		image := p.image(at.resource)
		l.found = append(l.found, image.Lease(now))
		l.size += weight(image.Grant)
	}
	return true
}

// after is the place to go on from.
func (l *listing) after() (after place) {
	if l.After != "" {
		after = place{journal.Hash(l.After), l.After}
	}
	return after
}

// places returns the places of the held resources behind after, in order.
func (p *page) places(after place, pattern messages.Pattern) []place {
	var places []place
	add := func(resource string) {
		at := place{journal.Hash(resource), resource}
		if at.compare(after) <= 0 {
			return
		}
		if key, err := messages.EncodeKey(resource); err == nil && pattern.Matches(key) {
			places = append(places, at)
		}
	}
	for resource, e := range p.entries {
		if e.Held() {
			add(resource)
		}
	}
	for resource := range p.volatile {
		add(resource)
	}
	slices.SortFunc(places, place.compare)
	return places
}

// image is the present lease of a resource that is held.
func (p *page) image(resource string) *lease.Image {
	if i, ok := p.volatile[resource]; ok {
		return i
	}
	return &p.entries[resource].Image
}
