package holdfast

import "slices"

// tombstones mark the leases of a holder that have been released, or are about to be. An answer that grants one of
// them once more, because it was on its way beside the release, grants nothing. Only the answer to a reentrant request
// can, and to one that was sent more than once: any other one is granted a lease of its own. So a tombstone is retained
// while its release is under way, and as long as such a request is that began before the release was over. A nil
// tombstones has none.
type tombstones struct {
	// last numbers the requests. expected are those under way, in order.
	last     uint64
	expected []uint64
	stones   []tombstone
	// room is what stones take at first: most holders have one lease.
	room [1]tombstone
}

func newTombstones() *tombstones {
	t := new(tombstones)
	t.stones = t.room[:0]
	return t
}

type tombstone struct {
	token Token
	// over: the release is. until is the last request that may have been answered with the lease.
	over  bool
	until uint64
}

func (t *tombstones) has(token Token) bool {
	return t != nil && slices.ContainsFunc(t.stones, func(s tombstone) bool { return s.token == token })
}

func (t *tombstones) expect() uint64 {
	t.last++
	t.expected = append(t.expected, t.last)
	return t.last
}

// expectNoMore reports whether nothing is left.
func (t *tombstones) expectNoMore(request uint64) (empty bool) {
	t.expected = slices.DeleteFunc(t.expected, func(other uint64) bool { return other == request })
	return t.sweep()
}

func (t *tombstones) add(token Token) { t.stones = append(t.stones, tombstone{token: token}) }

// released notes that one release of the lease is over, and reports whether nothing is left.
func (t *tombstones) released(token Token) (empty bool) {
	i := slices.IndexFunc(t.stones, func(s tombstone) bool { return s.token == token && !s.over })
	t.stones[i].over, t.stones[i].until = true, t.last
	return t.sweep()
}

// sweep removes what no request under way can be answered with.
func (t *tombstones) sweep() (empty bool) {
	t.stones = slices.DeleteFunc(t.stones, func(s tombstone) bool {
		return s.over && (len(t.expected) == 0 || t.expected[0] > s.until)
	})
	return len(t.stones) == 0 && len(t.expected) == 0
}
