package assignment

import (
	"cmp"
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// pairing is a shard at a node.
type pairing struct {
	shard uint32
	node  int
	score uint64
}

func (p pairing) compare(q pairing) int {
	return cmp.Or(cmp.Compare(q.score, p.score), cmp.Compare(p.shard, q.shard), cmp.Compare(p.node, q.node))
}

// pairings is a heap, the best pair first. It implements heap.Interface.
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

// score is that of a pair, the same on all nodes and in all versions.
func score(node string, shard uint32) uint64 {
	return xxhash.Sum64(binary.BigEndian.AppendUint32([]byte(node+"\x00"), shard))
}
