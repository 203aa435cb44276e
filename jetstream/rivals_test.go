package jetstream_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/journaltest"
	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"
)

// Several writers take one bucket over from one another, while requests and answers are lost, doubled and delayed.
func TestRivals(t *testing.T) {
	t.Parallel()
	const goal = 400
	m := jstest.NewMiddle(t)
	m.Bucket()
	m.OnRequests(trouble(m, 1))
	m.OnAnswers(lossy(2))

	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // for a machine that is busy with others
	defer cancel()
	var rivals journaltest.Rivals
	var writing sync.WaitGroup
	for seed := range uint64(3) {
		b := jstest.MustOpen(t, m.Client, 1).Bucket(0)
		writing.Go(func() { rivals.Write(ctx, b, seed, goal) })
	}
	writing.Wait()

	m.OnRequests(nil)
	m.OnAnswers(nil)
	rivals.Check(t, m.Other(), goal)
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
