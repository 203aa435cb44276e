package journaltest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/holdfast-io/holdfast/messages/journal"
)

// Rivals are writers of one journal that take it over from one another at random, while whatever goes wrong between them
// and it. What was confirmed stands where it was confirmed, what was refused stands nowhere, and no record of a deposed
// writer stands behind its successor's. The zero value is ready.
type Rivals struct {
	mu        sync.Mutex
	appended  map[string]appended
	confirmed int
	refused   int
	takeovers int
}

// appended is what a writer knows of one append.
type appended struct {
	position uint64
	err      error
}

// Write is one writer, which has the journal for itself, until all together have had so many appends confirmed, or ctx
// ends. The seed says when it gives the journal up.
func (r *Rivals) Write(ctx context.Context, j Journal, seed uint64, goal int) {
	dice := rand.New(rand.NewPCG(seed, 0))
	for ctx.Err() == nil && !r.reached(goal) {
		r.own(ctx, j, dice)
	}
}

func (r *Rivals) reached(goal int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.confirmed >= goal
}

// own takes the journal over and writes until the writer is deposed or has had enough.
func (r *Rivals) own(ctx context.Context, j Journal, dice *rand.Rand) {
	var epoch, number uint64
	last, err := j.Replay(ctx, 0, func(_ uint64, r *journal.Record) error {
		epoch, number = r.GetCommit().GetEpoch(), r.GetCommit().GetNumber()
		return nil
	})
	if err != nil {
		return
	}
	incarnation := dice.Uint64()
	for i := range 1 + dice.IntN(30) {
		number++
		record := Commit(number, incarnation)
		record.GetCommit().Epoch, record.GetCommit().Opened = epoch+1, i == 0
		err := j.Append(ctx, last, record)
		r.note(record, last+1, err)
		if err != nil {
			return
		}
		last++
	}
}

func (r *Rivals) note(record *journal.Record, position uint64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.appended == nil {
		r.appended = make(map[string]appended)
	}
	r.appended[identity(record)] = appended{position, err}
	switch {
	case err == nil:
		r.confirmed++
		if record.GetCommit().GetOpened() {
			r.takeovers++
		}
	case errors.Is(err, journal.ErrConflict):
		r.refused++
	}
}

// identity distinguishes every record of every writer.
func identity(r *journal.Record) string {
	return fmt.Sprintf("%s by %x", r.Describe(), r.GetCommit().GetWriter().GetIncarnation())
}

// Check reads the journal, to which nobody writes any more, and compares it with what the writers know. Fewer confirmed
// appends than the goal, and fewer refusals and takeovers than ten, are too little.
func (r *Rivals) Check(t *testing.T, j Journal, goal int) {
	t.Helper()
	t.Logf("%d confirmed, %d refused, %d takeovers", r.confirmed, r.refused, r.takeovers)
	if r.confirmed < goal || r.refused < 10 || r.takeovers < 10 {
		t.Error("too little happened to prove anything")
	}
	stands := make(map[string]uint64)
	before := new(journal.Commit)
	_, err := j.Replay(t.Context(), 0, func(position uint64, record *journal.Record) error {
		c := record.GetCommit()
		another := c.GetWriter().GetIncarnation() != before.GetWriter().GetIncarnation()
		if c.GetNumber() != before.GetNumber()+1 || c.GetEpoch() < before.GetEpoch() ||
			c.GetEpoch() == before.GetEpoch() && another {
			t.Errorf("position %d: %s by %v, behind number %d of epoch %d by %v", position, record.Describe(),
				c.GetWriter(), before.GetNumber(), before.GetEpoch(), before.GetWriter())
		}
		before, stands[identity(record)] = c, position
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for record, a := range r.appended {
		position, stored := stands[record]
		switch {
		case a.err == nil && position != a.position:
			t.Errorf("%s was confirmed at %d and stands at %d", record, a.position, position)
		case errors.Is(a.err, journal.ErrConflict) && stored:
			t.Errorf("%s was refused and stands at %d", record, position)
		}
	}
}
