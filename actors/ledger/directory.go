package ledger

import "github.com/holdfast-io/holdfast/messages/journal"

// maxDepth bounds the directory to 16 million pages a shard, some 1.5 TB; pages grow beyond that.
const maxDepth = 24

// directory finds the page of a resource. It is extendible hashing (Fagin and others, 1979): the
// slots are the hash's first bits, and pages of a smaller depth stand in several slots.
type directory struct {
	depth uint32
	slots []*page
}

func newDirectory() directory { return directory{slots: []*page{newPage(0, 0)}} }

func (d *directory) page(resource string) *page {
	return d.slots[journal.Bits(journal.Hash(resource), d.depth)]
}

// from returns the first page whose hashes are at or behind start and for which wanted is true, or nil.
func (d *directory) from(start uint64, wanted func(*page) bool) *page {
	for i := int(journal.Bits(start, d.depth)); i < len(d.slots); {
		p := d.slots[i]
		if wanted(p) {
			return p
		}
		i += 1 << (d.depth - p.depth)
	}
	return nil
}

// each calls visit with every page once.
func (d *directory) each(visit func(*page)) {
	d.from(0, func(p *page) bool {
		visit(p)
		return false
	})
}

// split puts two pages in the place of p. Neither is stored yet.
func (d *directory) split(p *page) {
	if p.depth == d.depth {
		d.double()
	}
	left, right := newPage(p.prefix<<1, p.depth+1), newPage(p.prefix<<1|1, p.depth+1)
	for _, half := range []*page{left, right} {
		half.partial = p.partial
		half.reserve(len(p.entries)/2, len(p.tombstones)/2)
	}
	half := func(resource string) *page {
		if journal.Bits(journal.Hash(resource), p.depth+1)&1 == 1 {
			return right
		}
		return left
	}
	for resource, e := range p.entries {
		half(resource).move(resource, e)
	}
	for resource, t := range p.tombstones {
		half(resource).addTombstone(resource, t)
	}
	for _, half := range []*page{left, right} {
		half.dirty, half.since = true, p.since
		d.set(half)
	}
	for resource, held := range p.ephemeral {
		half(resource).setEphemeral(resource, held)
	}
	for resource, t := range p.suspended {
		half(resource).suspend(resource, t)
	}
}

// replace puts a new page for the prefix in the place of the pages that cover that part of the hashes.
// It splits a larger page first, and returns the pages that it split.
func (d *directory) replace(prefix, depth uint32) (p *page, split []*page) {
	for d.depth < depth {
		d.double()
	}
	first := prefix << (d.depth - depth)
	for d.slots[first].depth < depth {
		split = append(split, d.slots[first])
		d.split(d.slots[first])
	}
	p = newPage(prefix, depth)
	d.set(p)
	return p, split
}

// set lets p stand in all slots of its prefix.
func (d *directory) set(p *page) {
	width := d.depth - p.depth
	for i := range uint32(1) << width {
		d.slots[p.prefix<<width|i] = p
	}
}

func (d *directory) double() {
	slots := make([]*page, 2*len(d.slots))
	for i, p := range d.slots {
		slots[2*i], slots[2*i+1] = p, p
	}
	d.slots, d.depth = slots, d.depth+1
}
