package actors

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
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
	s.system.Root.Send(s.pid, listing{Listing: l, result: result})
	select {
	case r := <-result:
		return r.leases, r.more, r.err
	case <-s.closed:
		return nil, false, fmt.Errorf("shard %d: %w", s.cfg.Shard, ErrEnded)
	case <-ctx.Done():
		return nil, false, fmt.Errorf("%w: shard %d is busy: %w", ErrUnavailable, s.cfg.Shard, context.Cause(ctx))
	}
}

type (
	listing struct {
		Listing
		result chan<- listed
	}
	listed struct {
		leases []*messages.Lease
		more   bool
		err    error
	}
)

func (s *shardActor) list(l listing) {
	if s.tenure == nil {
		l.result <- listed{err: fmt.Errorf("%w: %s", ErrUnavailable, s.unavailable(s.why))}
		return
	}
	var r listed
	r.leases, r.more = s.tenure.ledger.list(l.Listing, s.cfg.Clock.Now().Instant)
	l.result <- r
}

// place is where a resource stands in the order of a listing.
type place struct {
	hash     uint64
	resource string
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.hash, q.hash), cmp.Compare(p.resource, q.resource))
}

func (l *ledger) list(ask Listing, now lease.Instant) (leases []*messages.Lease, more bool) {
	var after place
	if ask.After != "" {
		after = place{hash(ask.After), ask.After}
	}
	size := 0
	full := l.from(after.hash, func(p *page) bool {
		for _, at := range p.held(after, ask.Pattern) {
			if len(leases) == ask.Limit || size >= ask.Bytes {
				return true
			}
			image := p.image(at.resource)
			leases = append(leases, image.Lease(now))
			size += weight(image.Grant)
		}
		return false
	})
	return leases, full != nil
}

// held returns the places of the held resources behind after, in order.
func (p *page) held(after place, pattern messages.Pattern) []place {
	var places []place
	add := func(resource string) {
		at := place{hash(resource), resource}
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
