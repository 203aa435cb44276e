package node

import (
	"cmp"
	"container/heap"
	"encoding/binary"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/holdfast-io/holdfast/messages/peer"
)

// ownership is who should own each shard, by what the candidates say of themselves and nothing else:
// every node that hears the same finds the same.
//
// Each pair of a shard and a node has a score (rendezvous hashing), and the highest ones are taken first,
// as long as the node has room: no node has two more shards than another. A node whose server leads the
// shard's bucket goes before all others; one that lately failed to open it stands back.
//
// It is computed when a candidate comes, goes, leads or fails, and is kept for as long as none does: the
// computation looks at every pair, and announcements arrive all the time.
type ownership struct {
	candidates []*peer.Announcement
	// owner is the incarnation that should own each shard; 0 if there are no candidates.
	owner []uint64
	// scores has a row for each candidate, with a score for each shard. Rows are kept by name and are
	// shared with later ownerships.
	scores [][]uint64
	rows   map[string][]uint64
	// failing has an entry for each candidate: the shards that it failed to open, nil if none. failures
	// counts them for each shard.
	failing  []map[uint32]bool
	failures []int
	// leaders are the candidates that lead each shard's bucket.
	leaders map[uint32][]int
	// ranks are those of one incarnation, ranked, as far as they were asked for; -1 if not.
	ranked uint64
	ranks  []int
}

func newOwnership(shards uint32, candidates []*peer.Announcement) *ownership {
	return (&ownership{owner: make([]uint64, shards)}).renewed(candidates)
}

// with returns the ownership of these candidates: the same one if nothing has changed that it depends on.
func (o *ownership) with(candidates []*peer.Announcement) *ownership {
	if slices.EqualFunc(o.candidates, candidates, sameClaim) {
		return o
	}
	return o.renewed(candidates)
}

// sameClaim reports whether two announcements give the same node the same shards.
func sameClaim(a, b *peer.Announcement) bool {
	return a == b || a.GetIncarnation() == b.GetIncarnation() && a.GetNode() == b.GetNode() &&
		slices.Equal(a.GetLeads(), b.GetLeads()) && slices.Equal(a.GetFailing(), b.GetFailing())
}

func (o *ownership) renewed(candidates []*peer.Announcement) *ownership {
	shards := len(o.owner)
	n := &ownership{
		candidates: candidates, owner: make([]uint64, shards), rows: make(map[string][]uint64, len(candidates)),
		failures: make([]int, shards), leaders: make(map[uint32][]int),
	}
	for node, c := range candidates {
		n.add(node, c, o.rows[c.GetNode()])
	}
	if len(candidates) > 0 {
		n.assign()
	}
	return n
}

// add takes in what a candidate says of itself. row are its scores, nil if they are not known yet.
func (o *ownership) add(node int, c *peer.Announcement, row []uint64) {
	if row == nil {
		row = make([]uint64, len(o.owner))
		for shard := range row {
			row[shard] = score(c.GetNode(), uint32(shard))
		}
	}
	o.rows[c.GetNode()], o.scores = row, append(o.scores, row)
	for _, shard := range c.GetLeads() {
		o.leaders[shard] = append(o.leaders[shard], node)
	}
	var failing map[uint32]bool
	for _, shard := range c.GetFailing() {
		if failing == nil {
			failing = make(map[uint32]bool)
		}
		failing[shard] = true
		o.failures[shard]++
	}
	o.failing = append(o.failing, failing)
}

// assign gives each shard to a candidate.
func (o *ownership) assign() {
	load := newLoad(len(o.owner), len(o.candidates))
	var led []pairing
	for shard, nodes := range o.leaders {
		for _, node := range nodes {
			led = append(led, pairing{shard, node, o.scores[node][shard]})
		}
	}
	slices.SortFunc(led, pairing.compare)
	for _, p := range led {
		if o.owner[p.shard] == 0 && !o.failing[p.node][p.shard] && load.take(p.node) {
			o.give(p)
		}
	}
	o.share(load)
	// Where failing nodes leave no room, a shard that is open somewhere is better than a fair load.
	for shard, owner := range o.owner {
		if owner == 0 {
			o.give(o.overload(uint32(shard)))
		}
	}
}

// share gives away the shards that no leader got, the best pair first. A pair is looked for again only
// when its node has become full meanwhile.
func (o *ownership) share(load *load) {
	var best pairings
	able := func(shard uint32) func(int) bool {
		return func(node int) bool { return !load.full(node) && !o.failing[node][shard] }
	}
	for shard, owner := range o.owner {
		if owner != 0 {
			continue
		}
		if p, ok := o.best(uint32(shard), able(uint32(shard))); ok {
			best = append(best, p)
		}
	}
	heap.Init(&best)
	for len(best) > 0 {
		p := best[0]
		if load.take(p.node) {
			o.give(p)
			heap.Pop(&best)
			continue
		}
		var ok bool
		if best[0], ok = o.best(p.shard, able(p.shard)); ok {
			heap.Fix(&best, 0)
		} else {
			best[0] = p
			heap.Pop(&best)
		}
	}
}

// overload returns the best pair of a shard whatever the load: one that can open it goes before one that
// cannot, and a leader before the others.
func (o *ownership) overload(shard uint32) pairing {
	fails := func(node int) bool { return o.failing[node][shard] }
	leads := func(node int) bool { return slices.Contains(o.leaders[shard], node) }
	for _, may := range []func(int) bool{
		func(node int) bool { return !fails(node) && leads(node) },
		func(node int) bool { return !fails(node) },
		leads,
	} {
		if p, ok := o.best(shard, may); ok {
			return p
		}
	}
	p, _ := o.best(shard, func(int) bool { return true })
	return p
}

// best returns a shard's best pair among the nodes that may have it.
func (o *ownership) best(shard uint32, may func(node int) bool) (p pairing, ok bool) {
	for node, row := range o.scores {
		if q := (pairing{shard, node, row[shard]}); (!ok || q.compare(p) < 0) && may(node) {
			p, ok = q, true
		}
	}
	return p, ok
}

func (o *ownership) give(p pairing) { o.owner[p.shard] = o.candidates[p.node].GetIncarnation() }

// rank returns at which place a node stands for a shard, counted from 0, load aside.
func (o *ownership) rank(shard uint32, incarnation uint64) int {
	if o.ranked != incarnation || o.ranks == nil {
		o.ranked, o.ranks = incarnation, slices.Repeat([]int{-1}, len(o.owner))
	}
	if o.ranks[shard] < 0 {
		o.ranks[shard] = o.countRank(shard, incarnation)
	}
	return o.ranks[shard]
}

func (o *ownership) countRank(shard uint32, incarnation uint64) int {
	var own uint64
	for node, c := range o.candidates {
		if c.GetIncarnation() == incarnation {
			own = o.scores[node][shard]
		}
	}
	rank := 0
	for _, row := range o.scores {
		if row[shard] > own {
			rank++
		}
	}
	return rank
}

// of returns the shards that a node should own.
func (o *ownership) of(incarnation uint64) []uint32 {
	var shards []uint32
	for shard, id := range o.owner {
		if id == incarnation {
			shards = append(shards, uint32(shard))
		}
	}
	return shards
}

// able reports whether another candidate has not failed to open the shard lately.
func (o *ownership) able(shard uint32, besides uint64) bool {
	others, failures := len(o.candidates), o.failures[shard]
	for node, c := range o.candidates {
		if c.GetIncarnation() == besides {
			others--
			if o.failing[node][shard] {
				failures--
			}
		}
	}
	return others > failures
}

// pairing is a shard at a node.
type pairing struct {
	shard uint32
	node  int
	score uint64
}

func (p pairing) compare(q pairing) int {
	return cmp.Or(cmp.Compare(q.score, p.score), cmp.Compare(p.shard, q.shard), cmp.Compare(p.node, q.node))
}

// pairings is a heap of them, the best one first. It implements heap.Interface.
type pairings []pairing

func (h pairings) Len() int           { return len(h) }
func (h pairings) Less(i, j int) bool { return h[i].compare(h[j]) < 0 }
func (h pairings) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *pairings) Push(x any) { *h = append(*h, x.(pairing)) } //nolint:forcetypeassert // nothing else is pushed

// Pop implements heap.Interface.
func (h *pairings) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func score(node string, shard uint32) uint64 {
	return xxhash.Sum64(binary.BigEndian.AppendUint32([]byte(node+"\x00"), shard))
}

// load keeps the nodes' loads within one of each other.
type load struct {
	taken         []int
	least, extras int
}

func newLoad(shards, nodes int) *load {
	return &load{taken: make([]int, nodes), least: shards / nodes, extras: shards % nodes}
}

// full reports whether a node may have no more; it stays so.
func (l *load) full(node int) bool {
	return l.taken[node] > l.least || l.taken[node] == l.least && l.extras == 0
}

// take gives a node one more, if it may have it.
func (l *load) take(node int) bool {
	if l.full(node) {
		return false
	}
	if l.taken[node] == l.least {
		l.extras--
	}
	l.taken[node]++
	return true
}
