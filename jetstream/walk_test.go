package jetstream_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// unlessConsumer refuses to create consumers.
func unlessConsumer(m *nats.Msg, otherwise jstest.Action) jstest.Action {
	if isCreateConsumer(m) {
		return jstest.Refuse(503, 10008, "JetStream system temporarily unavailable")
	}
	return otherwise
}

// Without a consumer, which takes the leader of all JetStream, the same is read, whatever is in the way.
func TestReplayWithoutConsumer(t *testing.T) {
	t.Parallel()
	for name, disturb := range map[string]func(n int) jstest.Action{
		"Undisturbed": func(int) jstest.Action { return jstest.Pass },
		"QuestionsLost": func(n int) jstest.Action {
			if n%50 == 0 {
				return jstest.Drop
			}
			return jstest.Pass
		},
		// A server that is behind has not received what is asked for.
		"Behind": func(n int) jstest.Action {
			if n > 70 && n < 100 {
				return jstest.Refuse(404, 10037, "no message found")
			}
			return jstest.Pass
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := jstest.NewMiddle(t)
			b := m.Bucket()
			jstest.MustFill(t, b, 300)
			for n := 1; n <= 300; n++ {
				if n < 10 || n > 99 && n < 270 || n%7 == 0 { // gaps shorter and longer than what is asked at a time
					mustErase(t, m.Direct, fmt.Sprint("journal.", n))
				}
			}
			want := jstest.MustReplay(t, m.Other(), 0)
			var mu sync.Mutex
			looks := 0
			m.OnRequests(func(request *nats.Msg) jstest.Action {
				if !jstest.IsLook(request) {
					return unlessConsumer(request, jstest.Pass)
				}
				mu.Lock()
				defer mu.Unlock()
				looks++
				return disturb(looks)
			})
			got := jstest.MustReplay(t, b, 0)
			wantStored(t, got, want.Last, want.Describe())
			if fmt.Sprint(got.Positions) != fmt.Sprint(want.Positions) || looks == 0 {
				t.Errorf("after %d questions, the positions are %v, want %v", looks, got.Positions, want.Positions)
			}
			behind := jstest.MustReplay(t, b, 50)
			wantStored(t, behind, want.Last, jstest.MustReplay(t, m.Other(), 50).Describe())
		})
	}
}

// What cannot be read is named, what has vanished from the end is not waited for, and who wants no more is
// not kept.
func TestReplayWithoutConsumerEnds(t *testing.T) {
	t.Parallel()
	without := func(t *testing.T) (*jstest.Middle, *jetstream.Bucket) {
		t.Helper()
		m := jstest.NewMiddle(t)
		b := m.Bucket()
		jstest.MustFill(t, b, 3)
		m.OnRequests(func(request *nats.Msg) jstest.Action { return unlessConsumer(request, jstest.Pass) })
		return m, b
	}
	t.Run("Corrupt", func(t *testing.T) {
		t.Parallel()
		m, b := without(t)
		if _, err := m.Direct.Request("$KV."+jstest.BucketName+".journal.4", []byte{0xff}, jstest.Timeout); err != nil {
			t.Fatal(err)
		}
		_, err := jstest.Replay(jstest.Context(t), b, 0)
		jstest.WantError(t, err, journal.ErrCorrupt, jstest.BucketName, "position 4")
	})
	t.Run("VanishedTail", func(t *testing.T) {
		t.Parallel()
		m, b := without(t)
		mustErase(t, m.Direct, "journal.3")
		wantStored(t, jstest.MustReplay(t, b, 0), 3, "1: commit 1 of epoch 1", "2: commit 2 of epoch 1")
	})
	t.Run("NotWhatComesLater", func(t *testing.T) {
		t.Parallel()
		m, b := without(t)
		other := m.Other()
		var seen []uint64
		last, err := b.Replay(jstest.Context(t), 0, func(position uint64, _ *journal.Record) error {
			jstest.MustAppend(t, other, 3+uint64(len(seen)), jstest.Commit(1, 4+uint64(len(seen)), 10))
			seen = append(seen, position)
			return nil
		})
		if err != nil || last != 3 || len(seen) != 3 {
			t.Errorf("read %v up to %d, error %v", seen, last, err)
		}
	})
	t.Run("NotWhatComesInPlaceOfTheTail", func(t *testing.T) {
		t.Parallel()
		m, b := without(t)
		other := m.Other()
		var once sync.Once
		m.OnRequests(func(request *nats.Msg) jstest.Action {
			if jstest.IsLook(request) {
				once.Do(func() {
					mustErase(t, m.Direct, "journal.3")
					jstest.MustAppend(t, other, 3, jstest.Commit(1, 4, 10))
				})
			}
			return unlessConsumer(request, jstest.Pass)
		})
		wantStored(t, jstest.MustReplay(t, b, 0), 3, "1: commit 1 of epoch 1", "2: commit 2 of epoch 1")
	})
	t.Run("Cancelled", func(t *testing.T) {
		t.Parallel()
		m, b := without(t)
		ctx, cancel := context.WithCancel(t.Context())
		m.OnRequests(func(request *nats.Msg) jstest.Action {
			if jstest.IsLook(request) {
				cancel()
				return jstest.Drop
			}
			return unlessConsumer(request, jstest.Pass)
		})
		_, err := jstest.Replay(ctx, b, 0)
		jstest.WantError(t, err, context.Canceled, jstest.BucketName, "up to position 0 of 3")
	})
}
