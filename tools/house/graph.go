package main

import (
	"maps"
	"slices"
)

// graph has an arrow from each name to the names that it uses.
type graph map[string]map[string]bool

func (g graph) add(from, to string) {
	if g[from] == nil {
		g[from] = make(map[string]bool)
	}
	if g[to] == nil {
		g[to] = make(map[string]bool)
	}
	if from != to {
		g[from][to] = true
	}
}

// circles returns the sets of names that reach one another (Tarjan's strongly connected components of two or more).
func (g graph) circles() (found [][]string) {
	index, low, on := make(map[string]int), make(map[string]int), make(map[string]bool)
	var stack []string
	var visit func(v string)
	visit = func(v string) {
		index[v] = len(index) + 1
		low[v], on[v] = index[v], true
		stack = append(stack, v)
		for _, w := range sorted(g[v]) {
			if index[w] == 0 {
				visit(w)
				low[v] = min(low[v], low[w])
			} else if on[w] {
				low[v] = min(low[v], index[w])
			}
		}
		if low[v] != index[v] {
			return
		}
		start := slices.Index(stack, v)
		if circle := slices.Clone(stack[start:]); len(circle) > 1 {
			slices.Sort(circle)
			found = append(found, circle)
		}
		for _, w := range stack[start:] {
			on[w] = false
		}
		stack = stack[:start]
	}
	for _, v := range sorted(g) {
		if index[v] == 0 {
			visit(v)
		}
	}
	return found
}

// back returns the arrows that run against the best order of the names that was found: an order in which as few as
// possible do. The order is greedy (Eades, Lin, Smyth 1993), and then improved by moving one name at a time.
func (g graph) back() (arrows [][2]string) {
	for _, circle := range g.circles() {
		arrows = append(arrows, g.against(g.improved(g.greedy(circle)))...)
	}
	return arrows
}

func (g graph) greedy(names []string) []string {
	left := make(map[string]bool)
	for _, v := range names {
		left[v] = true
	}
	var first, last []string
	for len(left) > 0 {
		best, most := "", 0
		for _, v := range sorted(left) {
			out, in := g.degree(v, left)
			switch {
			case out == 0:
				last = append(last, v)
				delete(left, v)
			case best == "" || out-in > most:
				best, most = v, out-in
			}
		}
		if left[best] {
			first = append(first, best)
			delete(left, best)
		}
	}
	slices.Reverse(last)
	return append(first, last...)
}

// degree counts the arrows from and to a name within a set.
func (g graph) degree(v string, within map[string]bool) (out, in int) {
	for w := range within {
		if g[v][w] {
			out++
		}
		if g[w][v] {
			in++
		}
	}
	return out, in
}

func (g graph) improved(order []string) []string {
	for better := true; better; {
		better = false
		for i := range order {
			place, gain := i, 0
			for _, step := range []int{-1, 1} {
				sum := 0
				for j := i + step; j >= 0 && j < len(order); j += step {
					sum += step * (weigh(g[order[j]][order[i]]) - weigh(g[order[i]][order[j]]))
					if -sum < gain {
						place, gain = j, -sum
					}
				}
			}
			if place != i {
				v := order[i]
				order = slices.Insert(slices.Delete(order, i, i+1), place, v)
				better = true
			}
		}
	}
	return order
}

func weigh(arrow bool) int {
	if arrow {
		return 1
	}
	return 0
}

// against returns the arrows from a later name to an earlier one.
func (g graph) against(order []string) (arrows [][2]string) {
	for i, v := range order {
		for _, w := range order[:i] {
			if g[v][w] {
				arrows = append(arrows, [2]string{v, w})
			}
		}
	}
	return arrows
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
