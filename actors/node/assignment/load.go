package assignment

// load keeps the nodes' loads within one of each other.
type load struct {
	taken        []int
	base, extras int
}

func newLoad(shards, nodes int) *load {
	return &load{taken: make([]int, nodes), base: shards / nodes, extras: shards % nodes}
}

// full reports whether a node may have no more; it stays so.
func (l *load) full(node int) bool {
	return l.taken[node] > l.base || l.taken[node] == l.base && l.extras == 0
}

// take gives a node one more, if it may have it.
func (l *load) take(node int) bool {
	if l.full(node) {
		return false
	}
	if l.taken[node] == l.base {
		l.extras--
	}
	l.taken[node]++
	return true
}
