// Package exhaustive searches everything that can happen to a pure state machine, as far as time goes: each event in
// each situation that other events lead to, and each situation once. It is for tests.
package exhaustive

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Situation is a state machine with all that its judge remembers. It belongs to one goroutine.
type Situation interface {
	// Key appends an encoding of everything that decides about the future to a buffer, and returns that. Of two
	// situations with the same key one is looked at.
	Key(buffer []byte) []byte
	// Moves returns how many things may happen next, always the same in the same situation.
	Moves() int
	// Say returns what a move is, in words.
	Say(move int) string
	// Take makes a move. The error is what is wrong with what it led to. reached counts what a search wants to have
	// come across.
	Take(move int, reached map[string]int) error
	// Fork returns a copy that changes by itself.
	Fork() Situation
	// Resume makes of a fork after a move what it was before that, if it has the key of the situation that it is a fork
	// of, and reports whether it did: each move then leads where it would in another fork.
	Resume(before Situation) bool
}

// Search is what to search. The fields must be set before [Search.Run].
type Search struct {
	// Begin returns where everything begins.
	Begin func() Situation
	// Depth is how many moves deep the search goes; 0: without a bound.
	Depth int

	// levels are the situations by how many moves lead to them, in the order in which they were found.
	levels [][]place
	// seen changes between windows only, so that walkers read it without a lock.
	seen    map[digest]struct{}
	found   Found
	stopped atomic.Bool
}

// Found is what a search has found. It is the same in each run, unless the search is stopped.
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
	return fmt.Sprintf("%d situations by %d moves, to a depth of %d%s", f.Situations, f.Moves, f.Depth, all)
}

// digest stands for a situation in the place of its key. Of ten million situations, two have the same 128 bits of
// SHA-256 with a probability below 2^-80.
type digest [16]byte

func digestOf(key []byte) digest {
	sum := sha256.Sum256(key)
	return digest(sum[:])
}

// place is where a situation was found: by which move, from which place of the level before. The way from the begin
// leads there again, so that no situation is kept.
type place struct{ before, move int32 }

// candidate is a situation that no window before this one had.
type candidate struct {
	digest
	place
}

// Run searches. The error has the shortest way to it: no shorter one leads to an error.
func (s *Search) Run() (Found, error) {
	s.seen = map[digest]struct{}{digestOf(s.Begin().Key(nil)): {}}
	s.levels, s.found = [][]place{{{}}}, Found{Reached: make(map[string]int)}
	var err error
	for !s.found.Ended && (s.Depth == 0 || s.found.Depth < s.Depth) && err == nil && !s.stopped.Load() {
		if err = s.expand(); err == nil && !s.stopped.Load() {
			s.found.Depth++
			s.found.Ended = len(s.levels[s.found.Depth]) == 0
		}
	}
	s.found.Situations = len(s.seen)
	return s.found, err
}

const (
	// chunk is how many places a walker takes at a time.
	chunk = 64
	// window is how many chunks are walked before what they have found is noted.
	window = 1024
)

// expand tries every move in every situation of the last level, and adds the level that they lead to.
func (s *Search) expand() error {
	depth := len(s.levels) - 1
	chunks := (len(s.levels[depth]) + chunk - 1) / chunk
	s.levels = append(s.levels, nil)
	walkers := make([]walker, runtime.GOMAXPROCS(0))
	for i := range walkers {
		walkers[i] = walker{Search: s, reached: make(map[string]int), unused: make(map[string]int)}
	}
	for begin := 0; begin < chunks && !s.stopped.Load(); begin += window {
		found, err := s.walk(walkers, depth, begin, min(begin+window, chunks))
		if err != nil {
			return err
		}
		for _, c := range found {
			if _, known := s.seen[c.digest]; !known {
				s.seen[c.digest] = struct{}{}
				s.levels[depth+1] = append(s.levels[depth+1], c.place)
			}
		}
	}
	for _, w := range walkers {
		s.found.Moves += w.moves
		for what, n := range w.reached {
			s.found.Reached[what] += n
		}
	}
	return nil
}

// walk tries every move in the situations of some chunks, and returns what it has found in their order. The error is
// that of the first chunk that has one.
func (s *Search) walk(walkers []walker, depth, begin, end int) ([]candidate, error) {
	found, errs := make([][]candidate, end-begin), make([]error, end-begin)
	var next atomic.Int64
	var all sync.WaitGroup
	for i := range walkers {
		all.Go(func() {
			for n := int(next.Add(1)) - 1; n < len(found) && !s.stopped.Load(); n = int(next.Add(1)) - 1 {
				first := (begin + n) * chunk
				for p := first; p < min(first+chunk, len(s.levels[depth])) && errs[n] == nil; p++ {
					found[n], errs[n] = walkers[i].tryAll(depth, int32(p), found[n])
				}
				if errs[n] != nil {
					next.Store(int64(len(found))) // the chunks before this one have been taken
				}
			}
		})
	}
	all.Wait()
	return slices.Concat(found...), cmp.Or(errs...)
}

// walker is one goroutine of a search.
type walker struct {
	*Search
	// way are the places up to where it is, from the begin on, and at the situations there.
	way []int32
	at  []Situation

	key, before     []byte
	moves           int
	reached, unused map[string]int
}

// wayTo returns the places that lead to one.
func (s *Search) wayTo(depth int, p int32) []int32 {
	way := make([]int32, depth+1)
	for ; depth >= 0; depth-- {
		way[depth] = p
		p = s.levels[depth][p].before
	}
	return way
}

// goTo returns the situation at a place. Its way is mostly that to the place before it in the level.
func (w *walker) goTo(depth int, p int32) Situation {
	way := w.wayTo(depth, p)
	same := 0
	for same < len(w.way) && w.way[same] == way[same] {
		same++
	}
	w.way, w.at = way, w.at[:same]
	for n := same; n <= depth; n++ {
		if n == 0 {
			w.at = append(w.at, w.Begin())
			continue
		}
		w.at[n-1].Moves()
		next := w.at[n-1].Fork()
		_ = next.Take(int(w.levels[n][way[n]].move), w.unused) // it was right before
		w.at = append(w.at, next)
	}
	return w.at[depth]
}

// tryAll tries every move at a place, and appends what is new to what was found before.
func (w *walker) tryAll(depth int, p int32, found []candidate) ([]candidate, error) {
	here := w.goTo(depth, p)
	w.before = here.Key(w.before[:0])
	there, same := here, false // no fork yet
	for move := range here.Moves() {
		w.moves++
		if there == here || !same || !there.Resume(here) {
			there = here.Fork()
		}
		if err := there.Take(move, w.reached); err != nil {
			return nil, fmt.Errorf("%w\nThe shortest way there:%s", err, w.say(move))
		}
		w.key = there.Key(w.key[:0])
		if same = bytes.Equal(w.key, w.before); same {
			continue
		}
		d := digestOf(w.key)
		if _, known := w.seen[d]; !known {
			found = append(found, candidate{d, place{p, int32(move)}})
		}
	}
	return found, nil
}

// say returns the way to where the walker is, and a move there, in words.
func (w *walker) say(last int) string {
	var b strings.Builder
	for n, s := range w.at {
		move := last
		if n+1 < len(w.at) {
			move = int(w.levels[n+1][w.way[n+1]].move)
		}
		fmt.Fprintf(&b, "\n%s", s.Say(move))
	}
	return b.String()
}

// Wrong is what is wrong with a move, nil if nothing is.
func Wrong(faults []string) error {
	if len(faults) == 0 {
		return nil
	}
	return errors.New(strings.Join(faults, "\n"))
}
