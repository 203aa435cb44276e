package assignment

import (
	"container/heap"
	"slices"

	"github.com/holdfast-io/holdfast/messages/peer"
)

// assignment assigns each shard to a node. It follows from the announcements of the candidates alone, so all nodes
// that receive the same compute the same.
//
// Each pair of a shard and a node has a score (rendezvous hashing), and the highest ones are taken first, as long as
// the node has room: no node has two more shards than another. A node whose server leads the shard's bucket goes
// before all others; one that recently failed to open it goes last.
//
// It is computed when a candidate joins, leaves, leads or fails, and kept until the next such change: the computation
// reads every pair, and announcements arrive all the time.
type assignment struct {
	candidates []*peer.Announcement
	// owner is the incarnation to which each shard is assigned; 0 if there are no candidates.
	owner []uint64
	// scores has a row for each candidate, with a score for each shard. Rows are kept by name and are
	// shared with later assignments.
	scores [][]uint64
	rows   map[string][]uint64
	// failing has the shards that each candidate failed to open. failures counts them by shard.
	failing  []map[uint32]bool
	failures []int
	// leaders are the candidates that lead each shard's bucket.
	leaders map[uint32][]int
	// ranks are those of the incarnation ranked, -1 where not computed yet.
	ranked uint64
	ranks  []int
}

func newAssignment(shards uint32, candidates []*peer.Announcement) *assignment {
	return (&assignment{owner: make([]uint64, shards)}).recomputed(candidates)
}

// with returns the assignment for these candidates: the same one if nothing has changed that it depends on.
func (a *assignment) with(candidates []*peer.Announcement) *assignment {
	if slices.EqualFunc(a.candidates, candidates, isEquivalent) {
		return a
	}
	return a.recomputed(candidates)
}

// isEquivalent reports whether two announcements lead to the same assignment.
func isEquivalent(a, b *peer.Announcement) bool {
	return a == b || a.GetIncarnation() == b.GetIncarnation() && a.GetNode() == b.GetNode() &&
		slices.Equal(a.GetLeads(), b.GetLeads()) && slices.Equal(a.GetFailing(), b.GetFailing())
}

func (a *assignment) recomputed(candidates []*peer.Announcement) *assignment {
	shards := len(a.owner)
	n := &assignment{
		candidates: candidates, owner: make([]uint64, shards), rows: make(map[string][]uint64, len(candidates)),
		failures: make([]int, shards), leaders: make(map[uint32][]int),
	}
	for node, c := range candidates {
		n.add(node, c, a.rows[c.GetNode()])
	}
	if len(candidates) > 0 {
		n.assign()
	}
	return n
}

// add adds a candidate. row are its scores, nil if they are not known yet.
func (a *assignment) add(node int, c *peer.Announcement, row []uint64) {
	if row == nil {
		row = make([]uint64, len(a.owner))
		for shard := range row {
			row[shard] = score(c.GetNode(), uint32(shard))
		}
	}
	a.rows[c.GetNode()], a.scores = row, append(a.scores, row)
	for _, shard := range c.GetLeads() {
		a.leaders[shard] = append(a.leaders[shard], node)
	}
	failing := make(map[uint32]bool, len(c.GetFailing()))
	for _, shard := range c.GetFailing() {
		failing[shard] = true
		a.failures[shard]++
	}
	a.failing = append(a.failing, failing)
}

// assign gives each shard to a candidate.
func (a *assignment) assign() {
	load := newLoad(len(a.owner), len(a.candidates))
	var led []pairing
	for shard, nodes := range a.leaders {
		for _, node := range nodes {
			led = append(led, pairing{shard, node, a.scores[node][shard]})
		}
	}
	slices.SortFunc(led, pairing.compare)
	for _, p := range led {
		if a.owner[p.shard] == 0 && !a.failing[p.node][p.shard] && load.take(p.node) {
			a.give(p)
		}
	}
	a.share(load)
	// Where failing nodes leave no room, an open shard is better than a fair load.
	for shard, owner := range a.owner {
		if owner == 0 {
			a.give(a.overload(uint32(shard)))
		}
	}
}

// share assigns the shards that no leader got, the best pair first. The best pair of a shard is computed again only
// when its node has become full meanwhile.
func (a *assignment) share(load *load) {
	var best pairings
	able := func(shard uint32) func(int) bool {
		return func(node int) bool { return !load.full(node) && !a.failing[node][shard] }
	}
	for shard, owner := range a.owner {
		if owner != 0 {
			continue
		}
		if p, ok := a.best(uint32(shard), able(uint32(shard))); ok {
			best = append(best, p)
		}
	}
	heap.Init(&best)
	for len(best) > 0 {
		p := best[0]
		if load.take(p.node) {
			a.give(p)
			heap.Pop(&best)
			continue
		}
		var ok bool
		if best[0], ok = a.best(p.shard, able(p.shard)); ok {
			heap.Fix(&best, 0)
		} else {
			best[0] = p
			heap.Pop(&best)
		}
	}
}

// overload returns the best pair of a shard regardless of load: a node that can open it goes before one that cannot,
// and a leader before the others.
func (a *assignment) overload(shard uint32) pairing {
	fails := func(node int) bool { return a.failing[node][shard] }
	leads := func(node int) bool { return slices.Contains(a.leaders[shard], node) }
	for _, may := range []func(int) bool{
		func(node int) bool { return !fails(node) && leads(node) },
		func(node int) bool { return !fails(node) },
		leads,
	} {
		if p, ok := a.best(shard, may); ok {
			return p
		}
	}
	p, _ := a.best(shard, func(int) bool { return true })
	return p
}

// best returns a shard's best pair among the nodes that may have it.
func (a *assignment) best(shard uint32, may func(node int) bool) (p pairing, ok bool) {
	for node, row := range a.scores {
		if q := (pairing{shard, node, row[shard]}); (!ok || q.compare(p) < 0) && may(node) {
			p, ok = q, true
		}
	}
	return p, ok
}

func (a *assignment) give(p pairing) { a.owner[p.shard] = a.candidates[p.node].GetIncarnation() }

// rank returns the place of a node among the scores for a shard, from 0, regardless of load.
func (a *assignment) rank(shard uint32, incarnation uint64) int {
	if a.ranked != incarnation || a.ranks == nil {
		a.ranked, a.ranks = incarnation, slices.Repeat([]int{-1}, len(a.owner))
	}
	if a.ranks[shard] < 0 {
		a.ranks[shard] = a.countRank(shard, incarnation)
	}
	return a.ranks[shard]
}

func (a *assignment) countRank(shard uint32, incarnation uint64) int {
	var own uint64
	for node, c := range a.candidates {
		if c.GetIncarnation() == incarnation {
			own = a.scores[node][shard]
		}
	}
	rank := 0
	for _, row := range a.scores {
		if row[shard] > own {
			rank++
		}
	}
	return rank
}

// of returns the shards that are assigned to a node.
func (a *assignment) of(incarnation uint64) []uint32 {
	var shards []uint32
	for shard, id := range a.owner {
		if id == incarnation {
			shards = append(shards, uint32(shard))
		}
	}
	return shards
}

// hasAlternative reports whether a candidate other than the given one has not recently failed to open the shard.
func (a *assignment) hasAlternative(shard uint32, besides uint64) bool {
	others, failures := len(a.candidates), a.failures[shard]
	for node, c := range a.candidates {
		if c.GetIncarnation() == besides {
			others--
			if a.failing[node][shard] {
				failures--
			}
		}
	}
	return others > failures
}
