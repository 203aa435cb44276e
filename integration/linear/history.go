package linear

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// History is what clients asked and received. It is safe for concurrent use.
type History struct {
	began time.Time

	mu         sync.Mutex
	operations []Operation
}

// heading is the first line of a saved history.
type heading struct {
	Began time.Time `json:"began"`
}

// NewHistory returns an empty history, which begins now.
func NewHistory() *History { return &History{began: time.Now()} }

// Began returns when the history began.
func (h *History) Began() time.Time { return h.began }

// Now returns the time since the history began, by the monotonic clock.
func (h *History) Now() time.Duration { return time.Since(h.began) }

// Add records an operation that is over, or of which no answer is awaited any more.
func (h *History) Add(o Operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, o)
}

// Operations returns what has been recorded, in the order in which it was sent.
func (h *History) Operations() []Operation {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := slices.Clone(h.operations)
	slices.SortStableFunc(all, func(a, b Operation) int { return int(a.Call - b.Call) })
	return all
}

// byResource returns the operations of each resource, in the order in which they were sent.
func (h *History) byResource() map[string][]Operation {
	all := make(map[string][]Operation)
	for _, o := range h.Operations() {
		all[o.Resource] = append(all[o.Resource], o)
	}
	return all
}

// Write saves the history, one JSON object a line.
func (h *History) Write(w io.Writer) error {
	buffered := bufio.NewWriter(w)
	lines := json.NewEncoder(buffered)
	if err := lines.Encode(heading{h.began}); err != nil {
		return err
	}
	for _, o := range h.Operations() {
		if err := lines.Encode(o); err != nil {
			return err
		}
	}
	return buffered.Flush()
}

// ReadHistory reads what [History.Write] has saved.
func ReadHistory(r io.Reader) (*History, error) {
	lines := json.NewDecoder(r)
	var head heading
	if err := lines.Decode(&head); err != nil {
		return nil, fmt.Errorf("history: its first line, when it began: %w", err)
	}
	h := &History{began: head.Began}
	for {
		var o Operation
		err := lines.Decode(&o)
		if errors.Is(err, io.EOF) {
			return h, nil
		}
		if err != nil {
			return nil, fmt.Errorf("history: operation %d: %w", len(h.operations)+1, err)
		}
		h.operations = append(h.operations, o)
	}
}
