package actors

import (
	"math"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// pageWeight is how heavy a page may be before it is split. A page is one message of the bucket
// and is written between two appends, which wait for it: 256 KB take about as long as one fsync.
const pageWeight = 192 << 10

// maxDepth bounds the directory to 16 million pages a shard, some 3 TB; pages grow beyond that.
const maxDepth = 24

// page is the part of a shard's resources whose hash begins with prefix.
type page struct {
	prefix, depth uint32
	// entries are the resources that are held, or were until a short while ago; held is how many are.
	entries map[string]*entry
	held    int
	// tombstones are the other ones that are remembered.
	tombstones map[string]tombstone
	// volatile are the ephemeral leases, which are in memory only; nil if there are none.
	volatile map[string]*lease.Image
	// weight estimates the bytes of the page when stored.
	weight int
	// stored: the bucket holds this page. dirty: it holds an older version.
	stored, dirty bool
	// since is how many bytes of changes the ledger had read before the first one that the stored
	// version lacks; math.MaxInt: it lacks none.
	since int
	// oldest is no later than when any of its free resources was used, fresh the same of those that
	// have no tombstone yet; math.MaxInt64: there are none.
	oldest, fresh int64
}

// entry is a resource in the ledger.
type entry struct {
	lease.Image
	// used is when it last changed, in Unix milliseconds.
	used int64
}

func newPage(prefix, depth uint32) *page {
	return &page{
		prefix: prefix, depth: depth, entries: make(map[string]*entry), tombstones: make(map[string]tombstone),
		since: math.MaxInt, oldest: math.MaxInt64, fresh: math.MaxInt64,
	}
}

func (p *page) name() string { return journal.PageName(p.prefix, p.depth) }

// free is how many free resources the page remembers.
func (p *page) free() int { return len(p.entries) - p.held + len(p.tombstones) }

// find returns what is known of a resource.
func (p *page) find(resource string) (*entry, bool) {
	if e, ok := p.entries[resource]; ok {
		return e, true
	}
	if t, ok := p.tombstones[resource]; ok {
		return t.entry(resource), true
	}
	return nil, false
}

// add puts an entry in, which is not there.
func (p *page) add(resource string, e *entry) {
	p.entries[resource] = e
	p.weight += weight(e.Grant)
	p.held += count(e.Held())
	if !e.Held() {
		p.oldest, p.fresh = min(p.oldest, e.used), min(p.fresh, e.used)
	}
}

// remove takes an entry out.
func (p *page) remove(resource string, e *entry) {
	delete(p.entries, resource)
	p.weight -= weight(e.Grant)
	p.held -= count(e.Held())
}

func (p *page) addTombstone(resource string, t tombstone) {
	p.tombstones[resource] = t
	p.weight += tombstoneWeight(resource)
	p.oldest = min(p.oldest, t.used())
}

func (p *page) removeTombstone(resource string) {
	delete(p.tombstones, resource)
	p.weight -= tombstoneWeight(resource)
}

// measure finds oldest and fresh exactly.
func (p *page) measure() {
	p.fresh = math.MaxInt64
	for _, e := range p.entries {
		if !e.Held() {
			p.fresh = min(p.fresh, e.used)
		}
	}
	p.oldest = p.fresh
	for _, t := range p.tombstones {
		p.oldest = min(p.oldest, t.used())
	}
}

// clean notes that the bucket holds the page as it is.
func (p *page) clean() { p.stored, p.dirty, p.since = true, false, math.MaxInt }

// setVolatile notes a resource's ephemeral lease, nil that it has none.
func (d *directory) setVolatile(resource string, i *lease.Image) {
	p := d.page(resource)
	switch {
	case i == nil:
		delete(p.volatile, resource)
	case p.volatile == nil:
		p.volatile = map[string]*lease.Image{resource: i}
	default:
		p.volatile[resource] = i
	}
}

// overhead estimates the tags, lengths and numbers of a grant or commit.
const overhead = 60

// weight estimates the stored bytes of a grant from above; without one, those of a reservation.
func weight(g *journal.Grant) int {
	if g == nil {
		return overhead + messages.MaxResourceBytes/4
	}
	n := overhead + len(g.GetResource()) + len(g.GetOwner()) + len(g.GetRequestId())
	for k, v := range g.GetMetadata() {
		n += 6 + len(k) + len(v)
	}
	return n
}

// commitWeight estimates the stored bytes of a commit from above.
func commitWeight(c *journal.Commit) int {
	n := overhead
	for _, change := range c.GetChanges() {
		n += weight(change.GetGrant()) + len(change.GetReason())
	}
	return n
}

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

// from returns the first page whose hashes are at or behind start and that is wanted, or nil.
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

// end returns the first hash behind the page, 0 if it is the last page.
func (p *page) end() uint64 { return uint64(p.prefix+1) << (64 - p.depth) }

// pages calls visit with every page once.
func (d *directory) pages(visit func(*page)) {
	for i := 0; i < len(d.slots); {
		p := d.slots[i]
		visit(p)
		i += 1 << (d.depth - p.depth)
	}
}

// split puts two pages in the place of p. Neither is stored yet.
func (d *directory) split(p *page) {
	if p.depth == d.depth {
		d.double()
	}
	left, right := newPage(p.prefix<<1, p.depth+1), newPage(p.prefix<<1|1, p.depth+1)
	half := func(resource string) *page {
		if journal.Bits(journal.Hash(resource), p.depth+1)&1 == 1 {
			return right
		}
		return left
	}
	for resource, e := range p.entries {
		half(resource).add(resource, e)
	}
	for resource, t := range p.tombstones {
		half(resource).addTombstone(resource, t)
	}
	for _, half := range []*page{left, right} {
		half.dirty, half.since = true, p.since
		d.set(half)
	}
	for resource, i := range p.volatile {
		d.setVolatile(resource, i)
	}
}

// replace puts a new page for the prefix in the place of whatever covers that part of the hashes.
// A larger page that does is split first; it returns those that were split.
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
