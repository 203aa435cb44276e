package linear

import (
	"maps"
	"sync"
)

// tally counts operations by kind and outcome.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (t *tally) add(o Operation) {
	outcome := "unknown"
	if o.Status != 0 {
		outcome = o.Status.String()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = make(map[string]int)
	}
	t.counts[string(o.Kind)+" "+outcome]++
}

func (t *tally) all() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.counts)
}
