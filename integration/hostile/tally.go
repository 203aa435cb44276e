package hostile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// tally counts what attackers have sent, and what came back. It is safe for concurrent use.
type tally struct {
	connections, moves, sent, received atomic.Int64 // the last two in bytes

	mu sync.Mutex
	// kinds are the moves by their kind, and answers what the server and the node have said.
	kinds, answers map[string]int
}

func newTally() *tally { return &tally{kinds: make(map[string]int), answers: make(map[string]int)} }

func (t *tally) move(kind string, bytes int) {
	t.moves.Add(1)
	t.sent.Add(int64(bytes))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kinds[kind]++
}

func (t *tally) count(answer string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answers[answer]++
}

// String is the tally in a few lines.
func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return fmt.Sprintf("%d connections, %d moves, %d MB sent, %d MB received\n  moves: %s\n  answers: %s",
		t.connections.Load(), t.moves.Load(), t.sent.Load()>>20, t.received.Load()>>20, inOrder(t.kinds),
		inOrder(t.answers))
}

func inOrder(counts map[string]int) string {
	var all []string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%s %d", what, counts[what]))
	}
	return strings.Join(all, ", ")
}

// missing returns which of these were not done or received.
func (t *tally) missing(want ...string) (missing []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, what := range want {
		if t.kinds[what]+t.answers[what] == 0 {
			missing = append(missing, what)
		}
	}
	return missing
}
