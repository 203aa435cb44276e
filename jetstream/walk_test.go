package jetstream_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// unlessConsumer lets nobody make a consumer.
func unlessConsumer(m *nats.Msg, otherwise action) action {
	if isCreateConsumer(m) {
		return refuse(503, 10008, "JetStream system temporarily unavailable")
	}
	return otherwise
}

// Without a consumer, which takes the leader of all JetStream, the same is read, whatever is in the way.
func TestReplayWithoutConsumer(t *testing.T) {
	t.Parallel()
	for name, disturb := range map[string]func(n int) action{
		"Undisturbed": func(int) action { return pass },
		"QuestionsLost": func(n int) action {
			if n%50 == 0 {
				return drop
			}
			return pass
		},
		// A server that is behind has not heard of what is asked for.
		"Behind": func(n int) action {
			if n > 70 && n < 100 {
				return refuse(404, 10037, "no message found")
			}
			return pass
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMiddle(t)
			b := m.bucket()
			mustFill(t, b, 300)
			for n := 1; n <= 300; n++ {
				if n < 10 || n > 99 && n < 270 || n%7 == 0 { // gaps shorter and longer than what is asked at a time
					mustErase(t, m.direct, fmt.Sprint("journal.", n))
				}
			}
			want := mustReplay(t, m.other(), 0)
			var mu sync.Mutex
			looks := 0
			m.onRequests(func(request *nats.Msg) action {
				if !isLook(request) {
					return unlessConsumer(request, pass)
				}
				mu.Lock()
				defer mu.Unlock()
				looks++
				return disturb(looks)
			})
			got := mustReplay(t, b, 0)
			wantStored(t, got, want.last, want.describe())
			if fmt.Sprint(got.positions) != fmt.Sprint(want.positions) || looks == 0 {
				t.Errorf("after %d questions, the positions are %v, want %v", looks, got.positions, want.positions)
			}
			behind := mustReplay(t, b, 50)
			wantStored(t, behind, want.last, mustReplay(t, m.other(), 50).describe())
		})
	}
}

// What cannot be read is named, what has vanished from the end is not waited for, and who wants no more is
// not kept.
func TestReplayWithoutConsumerEnds(t *testing.T) {
	t.Parallel()
	without := func(t *testing.T) (*middle, *jetstream.Bucket) {
		t.Helper()
		m := newMiddle(t)
		b := m.bucket()
		mustFill(t, b, 3)
		m.onRequests(func(request *nats.Msg) action { return unlessConsumer(request, pass) })
		return m, b
	}
	t.Run("Corrupt", func(t *testing.T) {
		t.Parallel()
		m, b := without(t)
		if _, err := m.direct.Request("$KV."+bucketName+".journal.4", []byte{0xff}, patience); err != nil {
			t.Fatal(err)
		}
		_, err := replay(testContext(t), b, 0)
		wantError(t, err, journal.ErrCorrupt, bucketName, "position 4")
	})
	t.Run("VanishedTail", func(t *testing.T) {
		t.Parallel()
		m, b := without(t)
		mustErase(t, m.direct, "journal.3")
		wantStored(t, mustReplay(t, b, 0), 3, "1: commit 1 of epoch 1", "2: commit 2 of epoch 1")
	})
	t.Run("NotWhatComesLater", func(t *testing.T) {
		t.Parallel()
		m, b := without(t)
		other := m.other()
		var seen []uint64
		last, err := b.Replay(testContext(t), 0, func(position uint64, _ *journal.Record) error {
			mustAppend(t, other, 3+uint64(len(seen)), commit(1, 4+uint64(len(seen)), 10))
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
		other := m.other()
		var once sync.Once
		m.onRequests(func(request *nats.Msg) action {
			if isLook(request) {
				once.Do(func() {
					mustErase(t, m.direct, "journal.3")
					mustAppend(t, other, 3, commit(1, 4, 10))
				})
			}
			return unlessConsumer(request, pass)
		})
		wantStored(t, mustReplay(t, b, 0), 3, "1: commit 1 of epoch 1", "2: commit 2 of epoch 1")
	})
	t.Run("Cancelled", func(t *testing.T) {
		t.Parallel()
		m, b := without(t)
		ctx, cancel := context.WithCancel(t.Context())
		m.onRequests(func(request *nats.Msg) action {
			if isLook(request) {
				cancel()
				return drop
			}
			return unlessConsumer(request, pass)
		})
		_, err := replay(ctx, b, 0)
		wantError(t, err, context.Canceled, bucketName, "up to position 0 of 3")
	})
}
