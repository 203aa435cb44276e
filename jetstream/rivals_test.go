package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// TestRivals lets several writers take one bucket over from one another at random, while requests and
// answers are lost, doubled and delayed. Whatever was confirmed stands where it was confirmed, nothing
// that was refused stands anywhere, and no deposed writer's record stands behind its successor's.
func TestRivals(t *testing.T) {
	t.Parallel()
	const goal = 400 // confirmed appends
	m := jstest.NewMiddle(t)
	m.Bucket()
	m.OnRequests(trouble(m, 1))
	m.OnAnswers(lossy(2))

	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // for a machine that is busy with others
	defer cancel()
	h := &history{records: map[string]outcome{}, enough: cancel, goal: goal}
	var rivals sync.WaitGroup
	for seed := range uint64(3) {
		rivals.Go(func() {
			w := rival{bucket: jstest.MustOpen(t, m.Client, 1).Bucket(0), history: h,
				random: rand.New(rand.NewPCG(seed, 0))}
			for ctx.Err() == nil {
				w.own(ctx)
			}
		})
	}
	rivals.Wait()

	m.OnRequests(nil)
	m.OnAnswers(nil)
	h.check(t, jstest.MustReplay(t, m.Other(), 0))
}

// trouble loses, doubles and delays requests of the appends.
func trouble(m *jstest.Middle, seed uint64) func(*nats.Msg) jstest.Action {
	random := rand.New(rand.NewPCG(seed, 1))
	var held []*nats.Msg
	return func(request *nats.Msg) jstest.Action {
		if !jstest.IsAppend(request) {
			return jstest.Pass
		}
		switch chance := random.IntN(1000); {
		case chance < 8:
			return jstest.Drop
		case chance < 100:
			return jstest.Action{Copies: 2}
		case chance < 120:
			held = append(held, request) // An echo that comes much later.
		case chance < 200 && len(held) > 0:
			m.Repeat(held[0])
			held = held[1:]
		case chance < 220:
			return jstest.Refuse(400, 10071, "wrong last sequence: 0")
		}
		return jstest.Pass
	}
}

// lossy loses a few acknowledgements.
func lossy(seed uint64) func(_, _ *nats.Msg) *nats.Msg {
	random := rand.New(rand.NewPCG(seed, 2))
	return func(request, answer *nats.Msg) *nats.Msg {
		if jstest.IsAppend(request) && random.IntN(1000) < 8 {
			return nil
		}
		return answer
	}
}

// outcome of one append, as its writer learned it.
type outcome struct {
	position uint64
	err      error
}

// history is what all writers together have learned.
type history struct {
	mu        sync.Mutex
	records   map[string]outcome
	confirmed int
	refused   int
	takeovers int
	goal      int
	enough    func()
}

func (h *history) note(r *journal.Record, position uint64, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.records[identity(r)] = outcome{position, err}
	switch {
	case err == nil:
		h.confirmed++
		if r.GetCommit().GetOpened() {
			h.takeovers++
		}
	case errors.Is(err, journal.ErrConflict):
		h.refused++
	}
	if h.confirmed == h.goal {
		h.enough()
	}
}

// identity distinguishes every record of every writer.
func identity(r *journal.Record) string {
	c := r.GetCommit()
	return fmt.Sprintf("%s by %x", r.Describe(), c.GetWriter().GetIncarnation())
}

func (h *history) check(t *testing.T, s jstest.Stored) {
	t.Helper()
	t.Logf("%d confirmed, %d refused, %d takeovers", h.confirmed, h.refused, h.takeovers)
	if h.confirmed < h.goal || h.refused < 10 || h.takeovers < 10 {
		t.Error("too little happened to prove anything")
	}
	stands := map[string]uint64{}
	var number, epoch uint64
	var writer string
	for i, r := range s.Records {
		c := r.GetCommit()
		who := fmt.Sprint(c.GetWriter())
		if c.GetNumber() != number+1 || c.GetEpoch() < epoch || c.GetEpoch() == epoch && who != writer {
			t.Errorf("position %d: %s by %s, behind number %d of epoch %d by %s", s.Positions[i], r.Describe(), who,
				number, epoch, writer)
		}
		number, epoch, writer = c.GetNumber(), c.GetEpoch(), who
		stands[identity(r)] = s.Positions[i]
	}
	for record, o := range h.records {
		position, stored := stands[record]
		switch {
		case o.err == nil && position != o.position:
			t.Errorf("%s was confirmed at %d and stands at %d", record, o.position, position)
		case errors.Is(o.err, journal.ErrConflict) && stored:
			t.Errorf("%s was refused and stands at %d", record, position)
		}
	}
}

// rival is a writer that owns the bucket now and then.
type rival struct {
	bucket  *jetstream.Bucket
	history *history
	random  *rand.Rand
}

// own takes the bucket over and writes until it is deposed or has had enough.
func (w *rival) own(ctx context.Context) {
	var epoch, number uint64
	last, err := w.bucket.Replay(ctx, 0, func(_ uint64, r *journal.Record) error {
		epoch, number = r.GetCommit().GetEpoch(), r.GetCommit().GetNumber()
		return nil
	})
	if err != nil {
		return
	}
	incarnation := w.random.Uint64()
	for i := range 1 + w.random.IntN(30) {
		number++
		r := jstest.Commit(epoch+1, number, 10)
		r.GetCommit().Writer.Incarnation = incarnation
		r.GetCommit().Opened = i == 0
		err := w.bucket.Append(ctx, last, r)
		w.history.note(r, last+1, err)
		if err != nil {
			return
		}
		last++
	}
}
