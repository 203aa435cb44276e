package lease_test

import (
	"crypto/sha256"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// digest stands for a situation, in the place of all its bits.
type digest [16]byte

// search looks at every situation that a world can reach, breadth first: at each event in each of them, and at each
// situation once. What it keeps of one is where it was found: the way from the begin leads there again.
type search struct {
	world *world
	seen  [256]seen
	// edges counts the events that were tried.
	edges atomic.Int64
	// reached counts what happened, as [audit.seen] does.
	mu      sync.Mutex
	reached map[string]int
	failure string
}

// seen are the situations whose digests begin with one byte.
type seen struct {
	mu      sync.Mutex
	digests map[digest]struct{}
}

// place is a situation: the place before it, and the number of the move that leads here.
type place struct {
	before *place
	move   int
}

func newSearch(w *world) *search {
	s := &search{world: w, reached: make(map[string]int)}
	for i := range s.seen {
		s.seen[i].digests = make(map[digest]struct{})
	}
	return s
}

// isNew notes a situation, and reports whether it had not been seen.
func (s *search) isNew(key []byte) bool {
	sum := sha256.Sum256(key)
	d := digest(sum[:16])
	part := &s.seen[d[0]]
	part.mu.Lock()
	defer part.mu.Unlock()
	if _, known := part.digests[d]; known {
		return false
	}
	part.digests[d] = struct{}{}
	return true
}

// states returns how many situations were found.
func (s *search) states() (n int) {
	for i := range s.seen {
		n += len(s.seen[i].digests)
	}
	return n
}

// run searches to a depth, or until so many situations are found, and returns how deep it has come: to that depth
// everything was looked at.
func (s *search) run(depth, most int) (reached int) {
	level := []*place{{}}
	s.isNew(s.world.begin().key(s.world))
	for reached < depth && len(level) > 0 && s.states() < most && s.failed() == "" {
		level = s.expand(level, most)
		if s.states() < most {
			reached++
		}
	}
	return reached
}

func (s *search) failed() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// expand tries every move in every situation of a level, and returns the new situations.
func (s *search) expand(level []*place, most int) []*place {
	var next atomic.Int64
	found := make([][]*place, runtime.GOMAXPROCS(0))
	var workers sync.WaitGroup
	for n := range found {
		workers.Go(func() {
			w := newWalker(s)
			const chunk = 64
			for s.failed() == "" && s.states() < most {
				end := int(next.Add(chunk))
				if end-chunk >= len(level) {
					break
				}
				for _, p := range level[end-chunk : min(end, len(level))] {
					found[n] = append(found[n], w.tryAll(p)...)
				}
			}
			w.report()
		})
	}
	workers.Wait()
	return slices.Concat(found...)
}

// walker is one goroutine of a search.
type walker struct {
	*search
	reached map[string]int
	edges   int64
}

func newWalker(s *search) *walker {
	return &walker{search: s, reached: make(map[string]int)}
}

func (w *walker) report() {
	w.search.edges.Add(w.edges)
	w.mu.Lock()
	defer w.mu.Unlock()
	add(w.search.reached, w.reached)
}

// at walks to a place.
func (w *walker) at(p *place) *situation {
	var way []int
	for ; p.before != nil; p = p.before {
		way = append(way, p.move)
	}
	now := w.world.begin()
	for _, move := range slices.Backward(way) {
		now.take(w.world.next(now)[move])
	}
	return now
}

// tryAll tries every move at a place, and returns the places that are new.
func (w *walker) tryAll(p *place) (found []*place) {
	here := w.at(p)
	for i, m := range w.world.next(here) {
		w.edges++
		there := here.fork()
		faults := there.take(m)
		add(w.reached, there.audit.seen)
		if len(faults) > 0 {
			w.fail(p, m, faults)
			return found
		}
		if w.isNew(there.key(w.world)) {
			found = append(found, &place{p, i})
		}
	}
	return found
}

// fail reports the way to a fault, as a script.
func (w *walker) fail(p *place, last choice, faults []string) {
	var way []*place
	for ; p.before != nil; p = p.before {
		way = append(way, p)
	}
	var script script
	now := w.world.begin()
	for _, p := range slices.Backward(way) {
		m := w.world.next(now)[p.move]
		script.steps = append(script.steps, now.dated(m))
		now.take(m)
	}
	script.steps = append(script.steps, now.dated(last))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failure = fmt.Sprintf("%s\nafter this script, which is as short as any:\n%s", strings.Join(faults, "\n"), script)
}

// TestSearch looks at every situation that a few owners can bring about in a few steps. make search goes deeper.
func TestSearch(t *testing.T) {
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			s := newSearch(w)
			depth := s.run(w.depth, 1<<20)
			if s.failure != "" {
				t.Fatal(s.failure)
			}
			t.Logf("%d situations, %d events, everything to depth %d: %v", s.states(), s.edges.Load(), depth, s.reached)
			for _, rare := range w.rare {
				if s.reached[rare] == 0 {
					t.Errorf("no %s", rare)
				}
			}
		})
	}
}
