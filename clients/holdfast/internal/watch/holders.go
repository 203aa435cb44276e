package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// holders are the persistent leases of a shard that were held behind one of its commits, found as the
// owner of the shard finds them when it opens it: from the pages of the bucket and the commits between
// them.
//
// They are right if all was read up to where the bucket ended after its oldest commit had been looked
// up, the commits without a gap from that one on, and if there is a page for every resource, or no commit
// was ever purged. For commits are purged only when pages have what they changed, and those stand before
// that end. So of a lease that no commit changed, the last page that was read shows the state; of every
// other one, the last commit.
type holders struct {
	selection Selection
	sequence
	// end is the position to read to.
	end uint64
	// pages are the held leases of each page by its name; a resource is in one of them at most.
	pages map[string]leases
	// changed are the leases that commits changed; nil if they have ended since.
	changed leases
}

// leases are grants by what identifies them.
type leases map[leaseID]*journal.Grant

type leaseID struct {
	resource string
	token    uint64
}

func idOf(g *journal.Grant) leaseID { return leaseID{g.GetResource(), g.GetToken()} }

// restarts bound how often the reading begins again because the owner compacts the journal meanwhile.
// That takes it a moment, once in tens of thousands of commits.
const restarts = 100

// errEnough ends the reading.
var errEnough = errors.New("enough")

// holders returns the leases that are held behind the shard's newest commit.
func (r *Reader) holders(ctx context.Context, selected Selection) (h *holders, err error) {
	for range restarts {
		h, err = r.readHolders(ctx, selected)
		if !errors.Is(err, errAgain) {
			return h, err
		}
		if err := r.pause(ctx, longestPause); err != nil {
			return nil, err
		}
	}
	return nil, unavailable(fmt.Errorf("shard %d: cannot read the present holders: %w", r.shard.Number, err))
}

func (r *Reader) readHolders(ctx context.Context, selected Selection) (*holders, error) {
	first, err := r.first(ctx)
	if err != nil || first == nil {
		return &holders{}, err
	}
	end, err := r.end(ctx)
	if err != nil {
		return nil, err
	}
	h := &holders{
		selection: selected, sequence: sequence{number: first.GetNumber() - 1}, end: end,
		pages: make(map[string]leases), changed: make(leases),
	}
	if err := r.read(ctx, 1, ">", h.take); !errors.Is(err, errEnough) {
		return nil, err
	}
	if first.GetNumber() > 1 && !h.covered() {
		return nil, fmt.Errorf("%w: a page is missing", errAgain)
	}
	return h, nil
}

// take takes a record in. Commits that were purged elsewhere already are in pages.
func (h *holders) take(position uint64, r *journal.Record) error {
	if p := r.GetPage(); p != nil {
		h.load(p)
	} else if fresh, err := h.next(r.GetCommit()); err != nil {
		return err
	} else if fresh {
		for _, change := range r.GetCommit().GetChanges() {
			h.apply(change)
		}
	}
	if position >= h.end {
		return errEnough
	}
	return nil
}

// apply takes a change in. A reservation is of a resource that is free, and leaves it so.
func (h *holders) apply(c *journal.Change) {
	g := c.GetGrant()
	if g == nil || !h.selection.hasStored(g.GetResource()) {
		return
	}
	switch c.GetKind() {
	case messages.Event_RELEASED, messages.Event_EXPIRED, messages.Event_BROKEN, messages.Event_CONFIRMED:
		h.changed[idOf(g)] = nil
	default:
		h.changed[idOf(g)] = g
	}
}

// load puts a page in the place of what larger ones have of its part of the resources.
func (h *holders) load(p *journal.Page) {
	name := p.Name()
	for i := 1; i < len(name); i++ {
		maps.DeleteFunc(h.pages[name[:i]], func(id leaseID, _ *journal.Grant) bool {
			return p.Covers(id.resource)
		})
	}
	held := make(leases)
	for _, e := range p.GetEntries() {
		g := e.GetGrant()
		if !h.selection.hasStored(g.GetResource()) {
			continue
		}
		if e.GetState() == messages.Event_ACQUIRED {
			held[idOf(g)] = g
		}
		for _, other := range e.GetOthers() {
			other.Resource = g.GetResource() // which a page leaves out
			held[idOf(other)] = other
		}
	}
	h.pages[name] = held
}

// covered reports whether there is a page for every resource.
func (h *holders) covered() bool {
	const all uint64 = 1 << 32
	var parts uint64
	for name := range h.pages {
		if !h.within(name) {
			parts += all >> (len(name) - 1) // "p" and a bit of the hash for each level
		}
	}
	return parts == all
}

// within reports whether another page has all that the page of this name has.
func (h *holders) within(name string) bool {
	for i := 1; i < len(name); i++ {
		if _, ok := h.pages[name[:i]]; ok {
			return true
		}
	}
	return false
}

// grants returns what is held, in the order of the names, tenants and tokens.
func (h *holders) grants() []*journal.Grant {
	var held []*journal.Grant
	for _, page := range h.pages {
		for id, g := range page {
			if _, changed := h.changed[id]; !changed {
				held = append(held, g)
			}
		}
	}
	for _, g := range h.changed {
		if g != nil {
			held = append(held, g)
		}
	}
	slices.SortFunc(held, func(a, b *journal.Grant) int {
		ofA, nameA := messages.Unqualify(a.GetResource())
		ofB, nameB := messages.Unqualify(b.GetResource())
		return cmp.Or(strings.Compare(nameA, nameB), strings.Compare(ofA, ofB), cmp.Compare(a.GetToken(), b.GetToken()))
	})
	return held
}
