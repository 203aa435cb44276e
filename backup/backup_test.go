package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/actors/journaltest"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/ledger"
	"github.com/holdfast-io/holdfast/backup"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/archive"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// shard is a journal in memory, its owner's ledger, and what its resources may have answered.
type shard struct {
	*journaltest.Memory
	ledger *ledger.Ledger
	// issued is the highest token of each resource, held the lease of each that is held.
	issued map[string]uint64
	held   map[string]*journal.Grant
}

// End implements backup.Source.
func (s *shard) End(context.Context) (uint64, error) { return s.Last(), nil }

// First implements backup.Source.
func (s *shard) First(context.Context) (uint64, error) {
	for _, r := range s.Records() {
		if c := r.GetCommit(); c != nil {
			return c.GetNumber(), nil
		}
	}
	return 0, nil
}

// tb is a test, or a run of a property.
type tb interface {
	Helper()
	Fatal(args ...any)
}

func check(t tb, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newShard(t tb) *shard {
	t.Helper()
	s := &shard{
		Memory: journaltest.NewMemory(), ledger: ledger.New(),
		issued: map[string]uint64{}, held: map[string]*journal.Grant{},
	}
	s.append(t, s.ledger.TakeOver(&journal.Writer{Node: "n"}, 0))
	return s
}

func (s *shard) append(t tb, r *journal.Record) {
	t.Helper()
	at := s.ledger.Head().Position
	check(t, s.Append(context.Background(), at, r))
	if r.GetCommit() != nil {
		check(t, s.ledger.Read(at+1, r, func(int) lease.Instant { return 0 }))
	}
}

func (s *shard) commit(t tb, changes ...*journal.Change) {
	t.Helper()
	r := s.ledger.Next(&journal.Writer{Node: "n"}, int64(s.ledger.Head().Number))
	r.GetCommit().Changes = changes
	s.append(t, r)
}

// step grants the resource if it is free, and releases it if it is held.
func (s *shard) step(t tb, resource string) {
	t.Helper()
	if g := s.held[resource]; g != nil {
		delete(s.held, resource)
		s.commit(t, &journal.Change{Kind: messages.Event_RELEASED, Grant: g})
		return
	}
	image := s.ledger.Image(resource)
	g := &journal.Grant{Resource: resource, Owner: "o", Token: uint64(image.Token()) + 1, TtlMs: 1000,
		SecretHash: []byte("hash")}
	s.held[resource], s.issued[resource] = g, g.GetToken()
	s.commit(t, &journal.Change{Kind: messages.Event_ACQUIRED, Grant: g})
}

// compact stores all pages, forgets all but some free resources, and purges what it can.
func (s *shard) compact(t tb, remember int) {
	t.Helper()
	c := s.store(t, remember)
	through, obsolete := c.Purge(func(ledger.Mark) bool { return true })
	check(t, s.Purge(context.Background(), through, obsolete))
}

// store stores all pages that have changed.
func (s *shard) store(t tb, remember int) *ledger.Checkpoint {
	t.Helper()
	c := s.ledger.Checkpoint()
	for complete := false; !complete; {
		r := c.Next(ledger.Retention{Limit: remember, InUse: func(string) bool { return false }})
		if r == nil {
			break
		}
		s.append(t, r)
		complete = c.Stored()
	}
	return c
}

// copyOf returns a backup of the shards.
func copyOf(t tb, shards []*shard) []byte {
	t.Helper()
	var file bytes.Buffer
	h := &archive.Header{Prefix: "holdfast", Shards: uint32(len(shards)), AtMs: 1}
	_, err := backup.Copy(context.Background(), &file, h, func(n uint32) backup.Source { return shards[n] },
		func(float64) {})
	check(t, err)
	return file.Bytes()
}

// restore returns the journals of as many shards, filled from the file.
func restore(t tb, file []byte, shards uint32, ahead uint64) (filled []*journaltest.Memory, after uint64) {
	t.Helper()
	contents, err := backup.Inspect(bytes.NewReader(file), int64(len(file)), func(float64) {})
	check(t, err)
	r := &backup.Restore{
		File: bytes.NewReader(file), Contents: contents, Ahead: ahead, Shards: shards, AtMs: 1,
		Progress: func(float64) {},
		Target:   func(n uint32) backup.Target { return filled[n] },
	}
	for range shards {
		filled = append(filled, journaltest.NewMemoryAt(r.After()))
	}
	check(t, r.Run(context.Background()))
	return filled, r.After()
}

// open returns the ledgers that the next owners of the journals have.
func open(t tb, journals []*journaltest.Memory, after uint64) (open []*ledger.Ledger) {
	t.Helper()
	for _, j := range journals {
		l := ledger.New()
		last, err := j.Replay(context.Background(), 0, func(position uint64, r *journal.Record) error {
			if position <= after {
				return fmt.Errorf("position %d, the backup was at %d", position, after)
			}
			return l.Read(position, r, func(int) lease.Instant { return 0 })
		})
		check(t, err)
		l.ReadTo(last)
		check(t, l.Complete())
		open = append(open, l)
	}
	return open
}

// shardOf returns the shard of a resource, of which a tenant has no part.
func shardOf(t tb, qualified string, shards int) uint32 {
	t.Helper()
	_, name := messages.Unqualify(qualified)
	key, err := messages.EncodeKey(name)
	check(t, err)
	return messages.ShardOf(key, uint32(shards))
}

// of returns what is known of a resource in a deployment of these shards.
func of(t tb, shards []*ledger.Ledger, resource string) lease.Image {
	t.Helper()
	return shards[shardOf(t, resource, len(shards))].Image(resource)
}

// A backup reads a shard while its owner goes on and purges what was not read yet, at any place.
func TestCopyDuringCompaction(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		s := newShard(t)
		work := func(n int) {
			for i := range n {
				s.step(t, fmt.Sprint("r", i%7))
			}
		}
		work(rapid.IntRange(1, 40).Draw(t, "before"))
		if rapid.Bool().Draw(t, "compacted") {
			s.compact(t, 100)
			work(rapid.IntRange(0, 9).Draw(t, "behind"))
		}
		disturbed := &disturbed{shard: s, at: map[int]func(){}}
		for range rapid.IntRange(1, 3).Draw(t, "disturbances") {
			work, isCompaction := work, rapid.Bool().Draw(t, "compact")
			n := rapid.IntRange(0, 20).Draw(t, "work")
			disturbed.at[rapid.IntRange(0, 60).Draw(t, "at")] = func() {
				if work(n); isCompaction {
					s.compact(t, 100)
				}
			}
		}
		var file bytes.Buffer
		_, err := backup.Copy(ctx, &file, &archive.Header{Shards: 1, AtMs: 1},
			func(uint32) backup.Source { return disturbed }, func(float64) {})
		check(t, err)
		filled, after := restore(t, file.Bytes(), 1, 0)
		got, want := open(t, filled, after)[0], disturbed.seen
		for resource := range s.issued {
			if got, was := got.Image(resource), want[resource]; uint64(got.Token()) < was {
				t.Fatalf("%s has token %d, and had %d when the backup began", resource, got.Token(), was)
			}
		}
	})
}

// Resources at rest have old pages, which stand before all commits. A backup has read these pages when their resources
// change, are stored again, and the changes are purged before the backup reads them.
func TestCopyOfOldPages(t *testing.T) {
	t.Parallel()
	s := newShard(t)
	halves := [2][]string{} // by the first bit of the hash: no page has resources of both
	for i := range 300 {
		name := fmt.Sprint("r", i)
		g := &journal.Grant{Resource: name, Owner: "o", Token: 1, TtlMs: 1000,
			Metadata: map[string]string{"k": strings.Repeat("x", 1000)}}
		s.commit(t, &journal.Change{Kind: messages.Event_ACQUIRED, Grant: g})
		s.held[name], s.issued[name] = g, 1
		half := journal.Hash(name) >> 63
		halves[half] = append(halves[half], name)
	}
	idle := func() {
		for range 300 { // enough for a purge
			s.append(t, s.ledger.Next(&journal.Writer{Node: "n"}, 0))
		}
	}
	s.compact(t, 1000)
	s.step(t, halves[0][0])
	idle()
	s.compact(t, 1000) // stores one page
	for range 2 {
		for _, name := range halves[1] {
			s.step(t, name)
		}
	}
	idle()
	pages := slices.IndexFunc(s.Records(), func(r *journal.Record) bool { return r.GetCommit() != nil })
	first, err := s.First(t.Context())
	check(t, err)
	compacting := &disturbed{shard: s, at: map[int]func(){pages: func() { s.compact(t, 1000) }}}
	var file bytes.Buffer
	_, err = backup.Copy(t.Context(), &file, &archive.Header{Shards: 1, AtMs: 1},
		func(uint32) backup.Source { return compacting }, func(float64) {})
	check(t, err)
	if now, err := s.First(t.Context()); err != nil || pages < 2 || now <= first {
		t.Fatalf("%d pages before the commits, which began with %d and begin with %d, error %v", pages, first, now, err)
	}
	filled, after := restore(t, file.Bytes(), 1, 0)
	got := open(t, filled, after)[0]
	for name, token := range s.issued {
		if image := got.Image(name); uint64(image.Token()) < token {
			t.Errorf("%s has token %d, and had %d when the backup began", name, image.Token(), token)
		}
	}
}

// A backup does not begin again where it can read on: the owner may compact all the time.
func TestCopyReadsOn(t *testing.T) {
	t.Parallel()
	s := newShard(t)
	for range 200 { // enough for a purge
		s.step(t, "r")
	}
	s.compact(t, 100)
	s.step(t, "r")
	compacting := &disturbed{shard: s, at: map[int]func(){}}
	for record := range 10_000 {
		compacting.at[record] = func() {
			if compacting.begins {
				s.store(t, 100)
				s.step(t, "r")
			}
		}
	}
	_, err := backup.Copy(t.Context(), &bytes.Buffer{}, &archive.Header{Shards: 1},
		func(uint32) backup.Source { return compacting }, func(float64) {})
	check(t, err)
}

// disturbed is a journal that is read one record at a time, between which other things happen.
type disturbed struct {
	*shard
	at   map[int]func()
	read int
	// begins: the journal is read from its beginning.
	begins bool
	// seen has the tokens when the reading began.
	seen map[string]uint64
}

// Replay implements backup.Source.
func (d *disturbed) Replay(ctx context.Context, after uint64, apply func(uint64, *journal.Record) error) (uint64,
	error) {
	if d.seen == nil {
		d.seen = maps.Clone(d.issued)
	}
	last := d.Last()
	for {
		d.begins = after == 0
		if f := d.at[d.read]; f != nil {
			f()
		}
		d.read++
		next, record := d.first(ctx, after)
		if record == nil || next > last {
			return last, nil
		}
		if err := apply(next, record); err != nil {
			return 0, err
		}
		after = next
	}
}

// first returns the first record behind the position.
func (d *disturbed) first(ctx context.Context, after uint64) (at uint64, first *journal.Record) {
	enough := errors.New("enough")
	_, _ = d.Memory.Replay(ctx, after, func(position uint64, r *journal.Record) error {
		at, first = position, r
		return enough
	})
	return at, first
}

// A journal with a gap that stays is reported.
func TestCopyOfACorruptJournal(t *testing.T) {
	t.Parallel()
	s := newShard(t)
	for range 5 {
		s.step(t, "r")
	}
	s.Delete(3)
	_, err := backup.Copy(t.Context(), &bytes.Buffer{}, &archive.Header{Shards: 1},
		func(uint32) backup.Source { return s }, func(float64) {})
	if !errors.Is(err, journal.ErrCorrupt) {
		t.Errorf("error %v", err)
	}
}

// Progress is reported with each page that is written, and only grows.
func TestProgressOfACopy(t *testing.T) {
	t.Parallel()
	s := newShard(t)
	for i := range 300 { // several pages
		s.commit(t, &journal.Change{Kind: messages.Event_ACQUIRED, Grant: &journal.Grant{
			Resource: fmt.Sprint("r", i), Owner: "o", Token: 1, TtlMs: 1000,
			Metadata: map[string]string{"k": strings.Repeat("x", 1000)},
		}})
	}
	var parts []float64
	_, err := backup.Copy(t.Context(), &bytes.Buffer{}, &archive.Header{Shards: 2, AtMs: 1},
		func(uint32) backup.Source { return s }, func(done float64) { parts = append(parts, done) })
	check(t, err)
	read, written := 0, 0 // of the first shard
	for _, part := range parts {
		if part <= 0.25 {
			read++
		} else if part <= 0.5 {
			written++
		}
	}
	if records := len(s.Records()); !slices.IsSorted(parts) || parts[len(parts)-1] != 1 || read != records ||
		written < 2 {
		t.Errorf("%d records: progress %v", records, parts)
	}
}

// A restore that was interrupted leaves no shard that can be opened as if it were whole.
func TestPartOfAShard(t *testing.T) {
	t.Parallel()
	s := newShard(t)
	for i := range 300 { // several pages
		s.commit(t, &journal.Change{Kind: messages.Event_ACQUIRED, Grant: &journal.Grant{
			Resource: fmt.Sprint("r", i), Owner: "o", Token: 1, TtlMs: 1000,
			Metadata: map[string]string{"k": string(make([]byte, 1000))},
		}})
	}
	filled, _ := restore(t, copyOf(t, []*shard{s}), 1, 0)
	records := filled[0].Records()
	if len(records) < 4 {
		t.Fatalf("%d records are too few for this test", len(records))
	}
	for n := 1; n < len(records); n++ {
		l := ledger.New()
		for i, r := range records[:n] {
			check(t, l.Read(uint64(i+1), r, func(int) lease.Instant { return 0 }))
		}
		if l.Complete() == nil {
			t.Fatalf("with %d of %d records it is complete", n, len(records))
		}
	}
}

// Tokens are raised up to the last one there is. What would leave no token is refused, wherever the highest one stands.
func TestLastTokens(t *testing.T) {
	t.Parallel()
	const highest = uint64(messages.MaxToken) - 1001
	for name, prepare := range map[string]func(s *shard){
		"reserved":  func(s *shard) { s.commit(t, &journal.Change{Resource: "r", Reserved: highest}) },
		"forgotten": func(s *shard) { s.commit(t, &journal.Change{Resource: "r", Reserved: highest}); s.compact(t, 0) },
		"held": func(s *shard) {
			s.commit(t, &journal.Change{Kind: messages.Event_ACQUIRED,
				Grant: &journal.Grant{Resource: "r", Owner: "o", Token: highest, TtlMs: 1}})
		},
		"of a block": func(s *shard) {
			s.commit(t, &journal.Change{Kind: messages.Event_ACQUIRED,
				Grant: &journal.Grant{Resource: "r", Owner: "o", Token: highest - 6, Tokens: 7, TtlMs: 1}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShard(t)
			prepare(s)
			file := copyOf(t, []*shard{s})
			for ahead, want := range map[uint64]messages.Token{0: messages.Token(highest),
				1000: messages.MaxToken - 1} {
				filled, after := restore(t, file, 2, ahead)
				if got := of(t, open(t, filled, after), "r"); got.Token() != want {
					t.Errorf("ahead %d: token %d, want %d", ahead, got.Token(), want)
				}
			}
			contents, err := backup.Inspect(bytes.NewReader(file), int64(len(file)), func(float64) {})
			check(t, err)
			for _, ahead := range []uint64{1001, backup.MaxAhead, backup.MaxAhead + 1, math.MaxUint64} {
				r := backup.Restore{Contents: contents, Ahead: ahead, Shards: 1}
				if err := r.Run(t.Context()); !errors.Is(err, backup.ErrAhead) {
					t.Errorf("ahead %d: error %v", ahead, err)
				}
			}
		})
	}
}

// A resource that rests does so after a restore, whatever is ahead, and a block is held with all its tokens.
func TestRestoreOfARest(t *testing.T) {
	t.Parallel()
	s := newShard(t)
	resting := &journal.Grant{Resource: "resting", Owner: "o", Token: 1, Tokens: 40, TtlMs: 1000, MinHoldMs: 9000}
	lost := &journal.Grant{Resource: "lost", Owner: "o", Token: 1, TtlMs: 1000, MinHoldMs: 9000, DelayMs: 5000}
	over := &journal.Grant{Resource: "over", Owner: "o", Token: 1, TtlMs: 1000, MinHoldMs: 9000}
	block := &journal.Grant{Resource: "block", Owner: "o", Token: 1, Tokens: 30, TtlMs: 1000}
	for _, c := range []*journal.Change{
		{Kind: messages.Event_ACQUIRED, Grant: resting},
		{Kind: messages.Event_RELEASED, Grant: resting, RestingMs: 7000},
		{Kind: messages.Event_ACQUIRED, Grant: lost}, {Kind: messages.Event_EXPIRED, Grant: lost, RestingMs: 8000},
		{Kind: messages.Event_ACQUIRED, Grant: over}, {Kind: messages.Event_RELEASED, Grant: over, RestingMs: 7000},
		{Kind: messages.Event_CONFIRMED, Grant: over}, {Kind: messages.Event_ACQUIRED, Grant: block},
	} {
		s.commit(t, c)
	}
	for _, compacted := range []bool{false, true} {
		if compacted {
			s.compact(t, 100)
		}
		file := copyOf(t, []*shard{s})
		contents, err := backup.Inspect(bytes.NewReader(file), int64(len(file)), func(float64) {})
		check(t, err)
		if contents.Leases != 1 || contents.Lost != 2 || contents.Free != 1 || contents.Highest != 40 {
			t.Errorf("it has %+v", contents)
		}
		for _, ahead := range []uint64{0, 100} {
			filled, after := restore(t, file, 2, ahead)
			ledgers := open(t, filled, after)
			for name, want := range map[string]struct {
				rest  lease.Instant // 0: it may be granted, or is held
				token messages.Token
			}{"resting": {7, 40}, "lost": {8, 1}, "over": {0, 1}, "block": {0, 30}} {
				l := ledgers[shardOf(t, name, len(ledgers))]
				l.Restart(lease.Time{}, func(string, *lease.Image) {})
				image := l.Image(name)
				if ahead > 0 {
					want.token = 140
				}
				if image.HeldBack() != (want.rest > 0) || image.HeldBack() && image.Soonest() != want.rest*1e9 ||
					image.Held() != (name == "block") || image.Token() != want.token {
					t.Errorf("ahead %d: %s is restored as %+v", ahead, name, image)
				}
			}
		}
	}
}

// What a backup says of itself is what it has, and the same when it is read.
func TestContents(t *testing.T) {
	t.Parallel()
	s := newShard(t)
	for _, name := range []string{"held", "free", "also held", "free"} {
		s.step(t, name)
	}
	var file bytes.Buffer
	wrote, err := backup.Copy(t.Context(), &file, &archive.Header{Shards: 1, AtMs: 1},
		func(uint32) backup.Source { return s }, func(float64) {})
	check(t, err)
	read, err := backup.Inspect(&file, int64(file.Len()), func(float64) {})
	check(t, err)
	if wrote.Leases != 2 || wrote.Free != 1 || wrote.Lost != 0 || wrote.Number != 5 || wrote.Epoch != 1 ||
		wrote.Position != 5 {
		t.Errorf("wrote %+v", wrote)
	}
	if read.Leases != wrote.Leases || read.Free != wrote.Free || read.Position != wrote.Position || len(read.Sum) == 0 {
		t.Errorf("read %+v, wrote %+v", read, wrote)
	}
}

// A file that is replaced during a restore by another one is noticed.
func TestFileIsReplaced(t *testing.T) {
	t.Parallel()
	s := newShard(t)
	file := copyOf(t, []*shard{s})
	contents, err := backup.Inspect(bytes.NewReader(file), int64(len(file)), func(float64) {})
	check(t, err)
	s.step(t, "r")
	r := backup.Restore{
		File: bytes.NewReader(copyOf(t, []*shard{s})), Contents: contents, Shards: 1, Progress: func(float64) {},
		Target: func(uint32) backup.Target { return journaltest.NewMemoryAt(contents.Position) },
	}
	if err := r.Run(t.Context()); !errors.Is(err, backup.ErrChanged) {
		t.Errorf("error %v", err)
	}
}
