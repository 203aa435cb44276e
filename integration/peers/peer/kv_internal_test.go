package peer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

const key = "bench.1"

// entry is one state of an entry.
type entry struct {
	jetstream.KeyValueEntry
	value    string
	revision uint64
}

func (e entry) Value() []byte    { return []byte(e.value) }
func (e entry) Revision() uint64 { return e.revision }

// oneEntry is a bucket with one entry, whose states it remembers.
type oneEntry struct {
	jetstream.KeyValue
	states []entry
	// refusals is how many writes are refused, stored whether they are stored nevertheless.
	refusals int
	stored   bool
	// behind is how many states the next read is behind; one less with each read.
	behind int
	reads  int
}

func (k *oneEntry) Update(_ context.Context, _ string, value []byte, known uint64) (uint64, error) {
	refused := k.refusals > 0
	k.refusals--
	if last := k.states[len(k.states)-1].revision; known != last || refused && !k.stored {
		return 0, fmt.Errorf("wrong last sequence: %w", jetstream.ErrKeyRevisionMismatch)
	}
	k.states = append(k.states, entry{value: string(value), revision: known + 10})
	if refused {
		return 0, fmt.Errorf("wrong last sequence: %w", jetstream.ErrKeyRevisionMismatch)
	}
	return known + 10, nil
}

func (k *oneEntry) Get(context.Context, string) (jetstream.KeyValueEntry, error) {
	k.reads++
	at := len(k.states) - 1 - k.behind
	k.behind = max(k.behind-1, 0)
	if k.states[at].revision == 0 {
		return nil, jetstream.ErrKeyNotFound
	}
	return k.states[at], nil
}

func newKVSession(k *oneEntry, revision uint64) *kvSession {
	s := &kvSession{bucket: &bucket{kv: k, revisions: &sync.Map{}, bell: newBell()}, owner: []byte("own"),
		resource: key, revision: revision}
	s.learn(key, revision)
	return s
}

// A refused write that only this session can have made is found in the entry, or made again.
func TestKVRefusals(t *testing.T) {
	extend, unlock := (*kvSession).Extend, (*kvSession).Unlock
	lock := func(s *kvSession, ctx context.Context) error {
		_, err := s.Lock(ctx, key, false)
		return err
	}
	own := []entry{{value: "own", revision: 10}}
	free := []entry{{revision: 10}}
	for name, c := range map[string]struct {
		kv   oneEntry
		call func(*kvSession, context.Context) error
		// want is the revision that the session has then; 0: it is refused.
		want uint64
	}{
		"NotFinished":      {oneEntry{states: own, refusals: 2}, extend, 20},
		"Stored":           {oneEntry{states: own, refusals: 1, stored: true}, extend, 20},
		"StoredUnlock":     {oneEntry{states: own, refusals: 1, stored: true}, unlock, 20},
		"StoredLock":       {oneEntry{states: free, refusals: 1, stored: true}, lock, 20},
		"StoredReadBehind": {oneEntry{states: own, refusals: 1, stored: true, behind: 1}, extend, 20},
		"First":            {oneEntry{states: []entry{{}}, refusals: 1}, lock, 10},
		"FirstStored":      {oneEntry{states: []entry{{}}, refusals: 1, stored: true, behind: 1}, lock, 10},
		"OfAnother": {oneEntry{states: append(slices.Clone(own), entry{value: "other", revision: 20})}, extend,
			0},
		"OfAnotherLock": {oneEntry{states: append(slices.Clone(free), entry{value: "other", revision: 20})}, lock,
			0},
		"OfAnotherBehind": {oneEntry{states: append(slices.Clone(own), entry{value: "other", revision: 20}),
			behind: 1}, extend, 0},
		"NotRefused": {oneEntry{states: own}, extend, 20},
	} {
		t.Run(name, func(t *testing.T) {
			refused := c.kv.refusals > 0 || c.want == 0
			s := newKVSession(&c.kv, c.kv.states[0].revision)
			err := c.call(s, t.Context())
			if c.want == 0 {
				if !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
					t.Errorf("got %v, want a mismatch", err)
				}
				return
			}
			if last := c.kv.states[len(c.kv.states)-1]; err != nil || s.revision != c.want || last.revision != c.want {
				t.Errorf("got revision %d and %v, want %d; the entry is %+v", s.revision, err, c.want, last)
			}
			if (c.kv.reads > 0) != refused {
				t.Errorf("the entry was read %d times", c.kv.reads)
			}
		})
	}
}

// A session that waits does not read the entry after a refusal.
func TestKVWait(t *testing.T) {
	k := &oneEntry{states: []entry{{revision: 10}}, refusals: 1}
	s := newKVSession(k, 10)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Lock(ctx, key, true); !errors.Is(err, context.Canceled) || k.reads != 0 {
		t.Errorf("got %v after %d reads", err, k.reads)
	}
}
