package ranking

import "slices"

// Top is the first entries of a ranking, of any number of which it keeps few.
type Top[T any] struct {
	limit int
	// kept has at most twice as many as the limit. From the limit on, worst is the last place that counts.
	kept  []entry[T]
	worst Place
}

type entry[T any] struct {
	at    Place
	value T
}

// NewTop returns the top with room for limit entries.
func NewTop[T any](limit int) *Top[T] { return &Top[T]{limit: limit} }

// Excludes reports that no entry with such a First can be among the first ones any more.
func (t *Top[T]) Excludes(first int64) bool {
	return len(t.kept) >= t.limit && (t.limit == 0 || first > t.worst.First)
}

// Add adds an entry.
func (t *Top[T]) Add(at Place, value T) {
	if len(t.kept) >= t.limit && (t.limit == 0 || at.Compare(t.worst) > 0) {
		return
	}
	t.kept = append(t.kept, entry[T]{at, value})
	if len(t.kept) == t.limit || len(t.kept) == 2*t.limit {
		t.cut()
	}
}

// Each calls visit with the first entries in their order until it returns false.
func (t *Top[T]) Each(visit func(Place, T) bool) {
	t.cut()
	for _, e := range t.kept {
		if !visit(e.at, e.value) {
			return
		}
	}
}

func (t *Top[T]) cut() {
	slices.SortFunc(t.kept, func(a, b entry[T]) int { return a.at.Compare(b.at) })
	if len(t.kept) >= t.limit && t.limit > 0 {
		clear(t.kept[t.limit:])
		t.kept = t.kept[:t.limit]
		t.worst = t.kept[t.limit-1].at
	}
}
