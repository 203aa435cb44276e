package ledger

import (
	"math"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// pageWeight is how heavy a page may be before it is split. A page is one message of the bucket
// and is written between two appends, which wait for it: 96 KB take about as long as two commits of 64 clients.
const pageWeight = 96 << 10

// heaviest is what an entry counts for at most: a page is not split for the leases of one resource, which stay
// together. It is more than half of a page, so that two such resources are not in one.
const heaviest = pageWeight * 3 / 4

// page is the part of a shard's resources whose hash begins with prefix.
type page struct {
	prefix, depth uint32
	// entries are the resources that are held or held back, or were a short while ago; taken counts those that are,
	// leases their leases, of which shared are shared and lost are lost ones.
	entries                     map[string]*entry
	taken, leases, shared, lost int
	// tombstones are the other ones that are remembered.
	tombstones map[string]tombstone
	// ephemeral are the ephemeral leases, which are in memory only; nil if there are none.
	ephemeral map[string][]lease.Lease
	// suspended is what [Ledger.Suspend] has noted, in memory only, of resources that are remembered; nil if there is
	// none.
	suspended map[string]tombstone
	// weight estimates the bytes of the page when stored, as far as a split can make them less.
	weight int
	// stored: the bucket holds this page. dirty: it holds an older version. partial: commits that are not in the
	// journal any more may have changed its resources, and it has yet to be read.
	stored, dirty, partial bool
	// since is how many bytes of changes the ledger had read before the first change that the stored
	// version lacks; math.MaxInt: it lacks none.
	since int
	// oldest is a lower bound of when its free resources were last used, in Unix milliseconds; fresh is
	// the same for those without a tombstone. math.MaxInt64: there are none.
	oldest, fresh int64
	// granted is a lower bound of when its leases that are held were granted, in Unix milliseconds; math.MaxInt64: there
	// are none.
	granted int64
}

// entry is a resource in the ledger.
type entry struct {
	lease.Image
	// used is when it last changed, in Unix milliseconds: see [Ledger.Before].
	used int64
	// counted is its weight, as its page counts it.
	counted int32
}

// weight estimates the stored bytes of the entry from above, up to the heaviest.
func (e *entry) weight() int {
	if e.Last().Grant == nil {
		return reservationWeight
	}
	return min(e.Weight(), heaviest)
}

func newPage(prefix, depth uint32) *page {
	return &page{
		prefix: prefix, depth: depth, entries: make(map[string]*entry), tombstones: make(map[string]tombstone),
		since: math.MaxInt, oldest: math.MaxInt64, fresh: math.MaxInt64, granted: math.MaxInt64,
	}
}

// reserve makes room in an empty page.
func (p *page) reserve(entries, tombstones int) {
	p.entries, p.tombstones = make(map[string]*entry, entries), make(map[string]tombstone, tombstones)
}

func (p *page) name() string { return journal.PageName(p.prefix, p.depth) }

// free is how many free resources the page remembers.
func (p *page) free() int { return len(p.entries) - p.taken + len(p.tombstones) }

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
	e.counted = int32(e.weight())
	p.move(resource, e)
}

// move puts an entry in that was in another page.
func (p *page) move(resource string, e *entry) {
	p.entries[resource] = e
	p.count(e, 1)
}

// remove takes an entry out.
func (p *page) remove(resource string, e *entry) {
	delete(p.entries, resource)
	p.count(e, -1)
}

// count adds an entry to the figures of the page, n times.
func (p *page) count(e *entry, n int) {
	p.weight += n * int(e.counted)
	c := e.Counts()
	p.leases, p.shared, p.lost = p.leases+n*(c.Held+c.Ended), p.shared+n*c.Shared, p.lost+n*c.Ended
	if n > 0 && c.Held > 0 { // mutant: PageOfARankingLeftOut
		for h := range e.Holdings() {
			p.granted = min(p.granted, h.Grant.GetAcquiredAtMs())
		}
	}
	switch {
	case !e.IsFree():
		p.taken += n
	case n > 0:
		p.oldest, p.fresh = min(p.oldest, e.used), min(p.fresh, e.used)
	}
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
		if e.IsFree() {
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

// setEphemeral notes a resource's ephemeral leases, of which there may be none.
func (p *page) setEphemeral(resource string, held []lease.Lease) {
	for _, h := range held {
		p.granted = min(p.granted, h.Grant.GetAcquiredAtMs())
	}
	switch {
	case len(held) == 0:
		delete(p.ephemeral, resource)
	case p.ephemeral == nil:
		p.ephemeral = map[string][]lease.Lease{resource: held}
	default:
		p.ephemeral[resource] = held
	}
}

// put puts a copy of an entry in the place of what there is of the resource.
func (p *page) put(resource string, e *entry) {
	if there, known := p.entries[resource]; known {
		p.count(there, -1)
		*there = *e
		there.counted = int32(there.weight())
		p.count(there, 1)
		return
	}
	if _, hasTombstone := p.tombstones[resource]; hasTombstone {
		p.removeTombstone(resource)
	}
	added := *e
	p.add(resource, &added)
}

// first returns the first hash of the page.
func (p *page) first() uint64 { return uint64(p.prefix) << (64 - p.depth) }

// end returns the first hash behind the page, 0 if it is the last page.
func (p *page) end() uint64 { return uint64(p.prefix+1) << (64 - p.depth) }
