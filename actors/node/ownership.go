package node

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/holdfast-io/holdfast/messages"
)

// ownership is who should own each shard, by what the candidates say of themselves and nothing else:
// every node that hears the same finds the same.
//
// Each pair of a shard and a node has a score (rendezvous hashing), and the highest ones are taken first,
// as long as the node has room: no node has two more shards than another. A node whose server leads the
// shard's bucket goes before all others; one that lately failed to open it stands back.
type ownership struct {
	candidates []*messages.Announcement
	// owner is the incarnation that should own each shard; 0 if there are no candidates.
	owner []uint64
}

// pairing is a shard at a node.
type pairing struct {
	shard uint32
	node  int
	leads bool
	score uint64
}

func (p pairing) compare(q pairing) int {
	if p.leads != q.leads {
		if p.leads {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(q.score, p.score), cmp.Compare(p.shard, q.shard), cmp.Compare(p.node, q.node))
}

func newOwnership(shards uint32, candidates []*messages.Announcement) *ownership {
	o := &ownership{candidates: candidates, owner: make([]uint64, shards)}
	if len(candidates) == 0 {
		return o
	}
	able, unable := o.pairings()
	load := newLoad(int(shards), len(candidates))
	for _, p := range able {
		if o.owner[p.shard] == 0 && load.take(p.node) {
			o.owner[p.shard] = candidates[p.node].GetIncarnation()
		}
	}
	// Where failing nodes leave no room, a shard that is open somewhere is better than a fair load.
	for _, p := range slices.Concat(able, unable) {
		if o.owner[p.shard] == 0 {
			o.owner[p.shard] = candidates[p.node].GetIncarnation()
		}
	}
	return o
}

// pairings returns all pairs, the best ones first, those that failed lately apart.
func (o *ownership) pairings() (able, unable []pairing) {
	for node, c := range o.candidates {
		for shard := range uint32(len(o.owner)) {
			p := pairing{shard: shard, node: node, leads: slices.Contains(c.GetLeads(), shard), score: score(c.GetNode(), shard)}
			if slices.Contains(c.GetFailing(), shard) {
				unable = append(unable, p)
			} else {
				able = append(able, p)
			}
		}
	}
	slices.SortFunc(able, pairing.compare)
	slices.SortFunc(unable, pairing.compare)
	return able, unable
}

// rank returns at which place a node stands for a shard, counted from 0, load aside.
func (o *ownership) rank(shard uint32, incarnation uint64) int {
	var own uint64
	for _, c := range o.candidates {
		if c.GetIncarnation() == incarnation {
			own = score(c.GetNode(), shard)
		}
	}
	rank := 0
	for _, c := range o.candidates {
		if score(c.GetNode(), shard) > own {
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
	return slices.ContainsFunc(o.candidates, func(c *messages.Announcement) bool {
		return c.GetIncarnation() != besides && !slices.Contains(c.GetFailing(), shard)
	})
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

// take gives a node one more, if it may have it.
func (l *load) take(node int) bool {
	switch {
	case l.taken[node] < l.least:
	case l.taken[node] == l.least && l.extras > 0:
		l.extras--
	default:
		return false
	}
	l.taken[node]++
	return true
}
