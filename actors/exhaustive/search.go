// Package exhaustive searches everything that can happen to a pure state machine, as far as time goes: each event in
// each situation that other events lead to, and each situation once. It is for tests.
package exhaustive

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Situation is a state machine with all that its judge remembers. It belongs to one goroutine.
type Situation interface {
	// Key returns an encoding of everything that decides about the future. Of two situations with the same key one is
	// looked at.
	Key() []byte
	// Moves returns how many things may happen next, always the same in the same situation.
	Moves() int
	// Say returns what a move is, in words.
	Say(move int) string
	// Take makes a move. The error is what is wrong with what it led to. reached counts what a search wants to have
	// come across.
	Take(move int, reached map[string]int) error
	// Fork returns a copy that changes by itself.
	Fork() Situation
}

// Search is what to search. The fields must be set before [Search.Run].
type Search struct {
	// Begin returns where everything begins.
	Begin func() Situation
	// Depth is how many moves deep the search goes; 0: without a bound.
	Depth int

	seen    [256]seen
	found   atomic.Int64
	moves   atomic.Int64
	stopped atomic.Bool

	mu      sync.Mutex
	reached map[string]int
	err     error
}

// Found is what a search has found.
type Found struct {
	// Situations and Moves are how many there are.
	Situations, Moves int
	// Depth is how many moves deep the search has come: everything that so many moves lead to was looked at.
	Depth int
	// Ended: no situation is left to be looked at.
	Ended bool
	// Reached counts what happened.
	Reached map[string]int
}

// String says how much there is.
func (f Found) String() string {
	all := ""
	if f.Ended {
		all = ", which is all there is"
	}
	var words []string
	for _, what := range slices.Sorted(maps.Keys(f.Reached)) {
		words = append(words, fmt.Sprintf("%s: %d", what, f.Reached[what]))
	}
	return fmt.Sprintf("%d situations by %d moves, to a depth of %d%s; %s",
		f.Situations, f.Moves, f.Depth, all, strings.Join(words, ", "))
}

// digest stands for a situation in the place of its key.
type digest [16]byte

// seen are the situations whose digests begin with one byte.
type seen struct {
	mu      sync.Mutex
	digests map[digest]struct{}
}

// place is where a situation was found. The way from the begin leads there again, so that none is kept.
type place struct {
	before *place
	move   int
}

// Run searches. The error has the shortest way to it: no shorter one leads to an error.
func (s *Search) Run() (Found, error) {
	s.reached = make(map[string]int)
	for i := range s.seen {
		s.seen[i].digests = make(map[digest]struct{})
	}
	s.isNew(s.Begin().Key())
	level, depth := []*place{{}}, 0
	for len(level) > 0 && (s.Depth == 0 || depth < s.Depth) && !s.stopped.Load() {
		if level = s.expand(level); !s.stopped.Load() {
			depth++
		}
	}
	return Found{
		Situations: int(s.found.Load()), Moves: int(s.moves.Load()), Depth: depth, Ended: len(level) == 0,
		Reached: s.reached,
	}, s.err
}

// isNew notes a situation, and reports whether it had not been found.
func (s *Search) isNew(key []byte) bool {
	sum := sha256.Sum256(key)
	d := digest(sum[:16])
	part := &s.seen[d[0]]
	part.mu.Lock()
	defer part.mu.Unlock()
	if _, known := part.digests[d]; known {
		return false
	}
	part.digests[d] = struct{}{}
	s.found.Add(1)
	return true
}

// chunk is how many places a goroutine takes at a time.
const chunk = 64

// expand tries every move in every situation of a level, and returns the new situations.
func (s *Search) expand(level []*place) []*place {
	var next atomic.Int64
	found := make([][]*place, runtime.GOMAXPROCS(0))
	var walkers sync.WaitGroup
	for n := range found {
		walkers.Go(func() {
			w := &walker{Search: s, reached: make(map[string]int)}
			for begin := w.next(&next); begin < len(level) && !s.stopped.Load(); begin = w.next(&next) {
				for _, p := range level[begin:min(begin+chunk, len(level))] {
					found[n] = append(found[n], w.tryAll(p)...)
				}
			}
			w.report()
		})
	}
	walkers.Wait()
	return slices.Concat(found...)
}

// walker is one goroutine of a search.
type walker struct {
	*Search
	reached map[string]int
	moves   int64
}

func (w *walker) next(next *atomic.Int64) int { return int(next.Add(chunk)) - chunk }

func (w *walker) report() {
	w.Search.moves.Add(w.moves)
	w.mu.Lock()
	defer w.mu.Unlock()
	for what, n := range w.reached {
		w.Search.reached[what] += n
	}
}

// way returns the moves that lead to a place.
func (p *place) way() (moves []int) {
	for ; p.before != nil; p = p.before {
		moves = append(moves, p.move)
	}
	slices.Reverse(moves)
	return moves
}

// tryAll tries every move at a place, and returns the places that are new.
func (w *walker) tryAll(p *place) (found []*place) {
	here, unused := w.Begin(), make(map[string]int)
	for _, move := range p.way() {
		here.Moves()
		_ = here.Take(move, unused) // it was right before
	}
	for move := range here.Moves() {
		w.moves++
		there := here.Fork()
		if err := there.Take(move, w.reached); err != nil {
			w.fail(p, move, err)
			return nil
		}
		if w.isNew(there.Key()) {
			found = append(found, &place{p, move})
		}
	}
	return found
}

// fail notes an error with the way that leads to it.
func (w *walker) fail(p *place, last int, err error) {
	var way strings.Builder
	now := w.Begin()
	for _, move := range append(p.way(), last) {
		now.Moves()
		fmt.Fprintf(&way, "\n%s", now.Say(move))
		_ = now.Take(move, make(map[string]int))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped.Store(true)
	if w.err == nil {
		w.err = fmt.Errorf("%w\nThe shortest way there:%s", err, &way)
	}
}

// Wrong is what is wrong with a move, nil if nothing is.
func Wrong(faults []string) error {
	if len(faults) == 0 {
		return nil
	}
	return errors.New(strings.Join(faults, "\n"))
}
