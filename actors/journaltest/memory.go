// Package journaltest has a journal in memory, with faults to order, and the suite that every
// implementation of actors.Journal has to pass.
package journaltest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages/journal"
)

// Memory is one writer's journal in memory. It is safe for concurrent use.
type Memory struct {
	*bucket

	mu            sync.Mutex
	before, after func(ctx context.Context, r *journal.Record) error
	appends       int
	busy          bool
}

// NewMemory returns an empty journal.
func NewMemory() *Memory { return &Memory{bucket: &bucket{stored: make(map[uint64]record)}} }

// NewMemoryAt returns an empty journal whose first position is the one behind after.
func NewMemoryAt(after uint64) *Memory {
	m := NewMemory()
	m.last = after
	return m
}

// Rival returns the same journal as another writer has it.
func (m *Memory) Rival() *Memory { return &Memory{bucket: m.bucket} }

// Before lets f be called with each record that is to be appended; nil ends that. An error is
// Append's, and nothing is stored. f may block, and must return when ctx ends.
func (m *Memory) Before(f func(ctx context.Context, r *journal.Record) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = f
}

// After lets f be called with each record that has been stored; nil ends that. An error is
// Append's all the same.
func (m *Memory) After(f func(ctx context.Context, r *journal.Record) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.after = f
}

// Append implements actors.Journal.
func (m *Memory) Append(ctx context.Context, after uint64, r *journal.Record) error {
	m.enter()
	defer m.leave()
	if err := call(ctx, m.hook(&m.before), r); err != nil {
		return err
	}
	if err := m.Store(after, r); err != nil {
		return err
	}
	return call(ctx, m.hook(&m.after), r)
}

// Appends returns how many records this writer has tried to append.
func (m *Memory) Appends() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.appends
}

// enter makes sure that one append is in flight at a time.
func (m *Memory) enter() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.busy {
		panic("two appends are in flight")
	}
	m.busy = true
	m.appends++
}

func (m *Memory) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.busy = false
}

type hook = func(context.Context, *journal.Record) error

func (m *Memory) hook(h *hook) hook {
	m.mu.Lock()
	defer m.mu.Unlock()
	return *h
}

func call(ctx context.Context, h hook, r *journal.Record) error {
	if h == nil {
		return nil
	}
	return h(ctx, r)
}

// bucket is what is stored, by all writers.
type bucket struct {
	mu     sync.Mutex
	last   uint64
	stored map[uint64]record
}

type record struct {
	key  string
	data []byte
}

// Store stores a record behind position after, as any writer may, past the hooks.
func (b *bucket) Store(after uint64, r *journal.Record) error {
	data, err := proto.Marshal(r)
	if err != nil {
		return err
	}
	return b.StoreRaw(after, key(r), data)
}

// StoreRaw stores any bytes under a key.
func (b *bucket) StoreRaw(after uint64, key string, data []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if after != b.last {
		return fmt.Errorf("behind position %d: %w", after, journal.ErrConflict)
	}
	maps.DeleteFunc(b.stored, func(_ uint64, r record) bool { return r.key == key })
	b.last++
	b.stored[b.last] = record{key, data}
	return nil
}

// Replay implements actors.Journal.
func (b *bucket) Replay(ctx context.Context, after uint64, apply func(uint64, *journal.Record) error) (uint64, error) {
	b.mu.Lock()
	stored, last := maps.Clone(b.stored), b.last
	b.mu.Unlock()
	for _, position := range slices.Sorted(maps.Keys(stored)) {
		if position <= after {
			continue
		}
		var r journal.Record
		if err := proto.Unmarshal(stored[position].data, &r); err != nil {
			return 0, fmt.Errorf("position %d: %w: %w", position, journal.ErrCorrupt, err)
		}
		if err := apply(position, &r); err != nil {
			return 0, err
		}
	}
	return last, ctx.Err()
}

// Purge implements actors.Journal.
func (b *bucket) Purge(_ context.Context, through uint64, pages []string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	newest := b.newestCommit()
	maps.DeleteFunc(b.stored, func(position uint64, r record) bool {
		if isCommit(r.key) {
			return position <= through && position != newest
		}
		return slices.Contains(pages, r.key)
	})
	return nil
}

// Last returns the position of the last record.
func (b *bucket) Last() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last
}

// Delete removes what is stored at a position, as an operator's mistake would.
func (b *bucket) Delete(position uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.stored, position)
}

// Records returns all records in their order.
func (b *bucket) Records() []*journal.Record {
	var all []*journal.Record
	_, err := b.Replay(context.Background(), 0, func(_ uint64, r *journal.Record) error {
		all = append(all, r)
		return nil
	})
	if err != nil {
		panic(err)
	}
	return all
}

func (b *bucket) newestCommit() (newest uint64) {
	for position, r := range b.stored {
		if isCommit(r.key) {
			newest = max(newest, position)
		}
	}
	return newest
}

func key(r *journal.Record) string {
	if p := r.GetPage(); p != nil {
		return p.Name()
	}
	return fmt.Sprint(r.GetCommit().GetNumber())
}

func isCommit(key string) bool { return key[0] != 'p' }
