package actors

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/actors/journaltest"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// scribe writes a journal as a shard does, without the actors: it keeps the live ledger.
type scribe struct {
	rapidOrT
	journal *journaltest.Memory
	ledger  *ledger
	writer  *messages.Writer
	now     int64
	issued  map[string]uint64
}

type rapidOrT interface {
	Helper()
	Fatalf(format string, args ...any)
}

func newScribe(t rapidOrT) *scribe {
	s := &scribe{rapidOrT: t, journal: journaltest.NewMemory(), issued: map[string]uint64{}}
	s.takeOver()
	return s
}

// takeOver opens the journal as a new owner.
func (s *scribe) takeOver() {
	s.Helper()
	s.writer = newWriter("n")
	l, err := open(context.Background(), s.config(), s.writer)
	if err != nil {
		s.Fatalf("open: %v", err)
	}
	s.ledger = l
}

func (s *scribe) config() ShardConfig {
	return ShardConfig{Shard: 1, Node: "n", Journal: s.journal, Clock: SystemClock()}
}

// change appends one change of a resource, of whatever kind is possible.
func (s *scribe) change(resource, owner string) {
	s.Helper()
	image := s.ledger.image(resource)
	c := &messages.Change{Kind: messages.Event_RELEASED, Grant: image.Grant}
	if !image.Held() {
		c.Kind = messages.Event_ACQUIRED
		c.Grant = &messages.Grant{Resource: resource, Owner: owner, Token: uint64(image.Token()) + 1, TtlMs: 1000}
		if c.Grant.Token <= s.issued[resource] {
			s.Fatalf("%s gets token %d again, behind %d", resource, c.Grant.Token, s.issued[resource])
		}
		s.issued[resource] = c.Grant.Token
	}
	r := s.ledger.next(s.writer, s.now)
	r.GetCommit().Changes = append(r.GetCommit().Changes, c)
	s.append(r)
	if err := s.ledger.read(s.ledger.position+1, r, func(int) lease.Instant { return 0 }); err != nil {
		s.Fatalf("live: %v", err)
	}
}

// page writes the first page behind a hash that wants it.
func (s *scribe) page(from uint64) {
	s.Helper()
	p := s.ledger.from(from, s.memory().wants)
	if p == nil {
		return
	}
	s.ledger.forget(p, s.memory())
	s.append(s.ledger.record(p))
	s.ledger.position++
	p.stored, p.dirty = true, false
}

// compact writes all pages that want it and purges the journal, but for the last keep commits.
func (s *scribe) compact(keep uint64) {
	s.Helper()
	through, retired := s.ledger.position, s.ledger.superseded
	s.ledger.superseded = nil
	for s.ledger.from(0, s.memory().wants) != nil {
		s.page(0)
	}
	through = min(through, s.ledger.marks.before(func(m mark) bool { return m.number < s.ledger.number-min(keep, s.ledger.number) }))
	if err := s.journal.Purge(context.Background(), through, retired); err != nil {
		s.Fatalf("purge: %v", err)
	}
}

// remember is how long free resources are remembered here.
const remember = 1000

func (s *scribe) memory() memory {
	return memory{before: s.now - remember, inUse: func(string) bool { return false }}
}

func (s *scribe) append(r *messages.Record) {
	s.Helper()
	if err := s.journal.Append(context.Background(), s.ledger.position, r); err != nil {
		s.Fatalf("append %s: %v", r.Describe(), err)
	}
}

// state is all that a ledger knows, in words.
func state(l *ledger) string {
	lines := map[string]string{}
	l.pages(func(p *page) {
		for resource, i := range p.entries {
			lines[resource] = fmt.Sprintf("%s: %s %d, owner of %d bytes\n", resource, i.State, i.Token(), len(i.Grant.GetOwner()))
		}
	})
	var b strings.Builder
	for _, resource := range slices.Sorted(maps.Keys(lines)) {
		b.WriteString(lines[resource])
	}
	return b.String()
}

// Whatever happened, and whenever it was compacted or forgotten: who opens the journal knows what
// its last owner knew, and no token is ever issued twice.
func TestReplayEqualsLive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newScribe(t)
		resources := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"})
		padding := strings.Repeat("x", rapid.SampledFrom([]int{0, pageWeight / 4, pageWeight / 3}).Draw(t, "padding"))
		t.Repeat(map[string]func(*rapid.T){
			"change": func(t *rapid.T) {
				s.change(resources.Draw(t, "resource"), "o"+padding)
			},
			"some changes": func(t *rapid.T) {
				for i := range rapid.IntRange(markEvery/2, 2*markEvery).Draw(t, "n") {
					s.change(fmt.Sprint("r", i%7), "o")
				}
			},
			"page":      func(t *rapid.T) { s.page(rapid.Uint64().Draw(t, "from")) },
			"compact":   func(t *rapid.T) { s.compact(rapid.SampledFrom([]uint64{0, 1, 100}).Draw(t, "keep")) },
			"take over": func(*rapid.T) { s.takeOver() },
			"time":      func(t *rapid.T) { s.now += rapid.Int64Range(-remember, 2*remember).Draw(t, "ms") },
			"": func(t *rapid.T) {
				live := s.ledger
				s.takeOver()
				if got, want := state(s.ledger), state(live); got != want {
					t.Fatalf("replay:\n%slive:\n%s", got, want)
				}
				if s.ledger.floor != live.floor {
					t.Fatalf("replay has floor %d, live has %d", s.ledger.floor, live.floor)
				}
				if s.ledger.number != live.number+1 || s.ledger.epoch != live.epoch+1 {
					t.Fatalf("replay is at commit %d of epoch %d, live was at %d of %d",
						s.ledger.number, s.ledger.epoch, live.number, live.epoch)
				}
			},
		})
	})
}

// A compaction keeps the bucket as small as what is known, however much has happened.
func TestCompactionBoundsTheBucket(t *testing.T) {
	s := newScribe(t)
	for i := range 20 * markEvery {
		s.change(fmt.Sprint("r", i%10), "o")
		if i%markEvery == 0 {
			s.compact(0)
		}
	}
	s.compact(0)
	if n := len(s.journal.Records()); n > markEvery+2 {
		t.Errorf("%d records are left of %d changes of 10 resources", n, 20*markEvery)
	}
}

func TestHeavyPagesAreSplit(t *testing.T) {
	s := newScribe(t)
	const resources = 3000
	for i := range resources {
		s.change(fmt.Sprint("r", i), strings.Repeat("o", 200))
		if i == resources/2 {
			s.compact(0) // so that there are stored pages to be split
		}
	}
	s.compact(0)
	pages := 0
	for _, r := range s.journal.Records() {
		if p := r.GetPage(); p != nil {
			pages++
			if size := proto.Size(r); size > 256<<10 {
				t.Errorf("page %s has %d bytes", p.Name(), size)
			}
		}
	}
	live := 0
	s.ledger.pages(func(*page) { live++ })
	if pages != live || pages < 4 {
		t.Errorf("%d pages are stored, %d are in use", pages, live)
	}
}

// What cannot be true is named, and not served.
func TestCorruptJournals(t *testing.T) {
	held := &messages.Grant{Resource: "r", Owner: "o", Token: 1, TtlMs: 1000}
	change := func(kind messages.Event_Kind, token uint64) *messages.Record {
		r := commit(3, 1)
		r.GetCommit().Changes = []*messages.Change{{Kind: kind, Grant: &messages.Grant{Resource: "r", Token: token}}}
		return r
	}
	first, second := commit(1, 1), commit(2, 1)
	first.GetCommit().Opened = true
	second.GetCommit().Changes = []*messages.Change{{Kind: messages.Event_ACQUIRED, Grant: held}}
	strayed := pageRecord(&messages.Page{Prefix: 1, Depth: 1, Number: 2, Epoch: 1, Entries: []*messages.Entry{{Grant: held}}})
	if bits(hash("r"), 1) == 1 {
		strayed.GetPage().Prefix = 0
	}
	for name, test := range map[string]struct {
		third *messages.Record
		want  string
	}{
		"a commit is missing":             {commit(4, 1), "position 3, commit 4 of epoch 1: stored record cannot be read: it follows commit 2, so something is missing or was written twice"},
		"a commit stands twice":           {commit(2, 1), "position 3, commit 2 of epoch 1: stored record cannot be read: it follows commit 2, so something is missing or was written twice"},
		"another epoch without opening":   {commit(3, 2), "position 3, commit 3 of epoch 2: stored record cannot be read: it follows epoch 1, so a deposed writer went on"},
		"an older epoch":                  {commit(3, 0), "position 3, commit 3 of epoch 0: stored record cannot be read: it follows epoch 1, so a deposed writer went on"},
		"a grant of what is held":         {change(messages.Event_ACQUIRED, 2), `position 3, commit 3 of epoch 1: change 0: stored record cannot be read: grant of "r" token 2 where token 1 stands (ACQUIRED)`},
		"the end of another token":        {change(messages.Event_RELEASED, 7), `position 3, commit 3 of epoch 1: change 0: stored record cannot be read: RELEASED of "r" token 7 where token 1 stands (ACQUIRED)`},
		"a page ahead of its time":        {pageRecord(&messages.Page{Number: 9, Epoch: 1}), "position 3, page p at commit 9: stored record cannot be read: it was written behind commit 9 of epoch 1, but the last one read is commit 2 of epoch 1"},
		"a page that cannot be":           {pageRecord(&messages.Page{Prefix: 4, Depth: 2, Number: 2, Epoch: 1}), "position 3, page p100 at commit 2: stored record cannot be read: no page can have prefix 4 of depth 2"},
		"a page with strangers":           {strayed, fmt.Sprintf("position 3, page %s at commit 2: stored record cannot be read: resource \"r\" belongs elsewhere", strayed.GetPage().Name())},
		"neither commit nor page":         {&messages.Record{Format: 1}, "position 3, record without a body: stored record cannot be read: it has no body"},
		"a change that names no resource": {noResource(), "position 3, commit 3 of epoch 1: change 0: stored record cannot be read: it names no resource or no token"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger()
			for i, r := range []*messages.Record{first, second} {
				if err := l.read(uint64(i+1), r, never); err != nil {
					t.Fatal(err)
				}
			}
			err := l.read(3, test.third, never)
			if !errors.Is(err, messages.ErrCorrupt) || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestMissingPage(t *testing.T) {
	s := newScribe(t)
	for i := range 3000 {
		s.change(fmt.Sprint("r", i), strings.Repeat("o", 200))
	}
	s.compact(0)
	var name string
	var at uint64
	_, err := s.journal.Replay(t.Context(), 0, func(p uint64, r *messages.Record) error {
		if page := r.GetPage(); page != nil {
			name, at = page.Name(), p
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.journal.Delete(at)
	_, err = open(t.Context(), s.config(), s.writer)
	want := fmt.Sprintf("page %s is missing", name)
	if !errors.Is(err, messages.ErrCorrupt) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

func never(int) lease.Instant { return 0 }

func commit(number, epoch uint64) *messages.Record {
	r := journaltest.Commit(number, 1)
	r.GetCommit().Epoch = epoch
	return r
}

func pageRecord(p *messages.Page) *messages.Record {
	return &messages.Record{Format: messages.RecordFormat, Body: &messages.Record_Page{Page: p}}
}

func noResource() *messages.Record {
	r := commit(3, 1)
	r.GetCommit().Changes = []*messages.Change{{Kind: messages.Event_ACQUIRED, Grant: &messages.Grant{Token: 1}}}
	return r
}

// What has not been used for long leaves the bucket, and leaves its mark on every token to come.
func TestForgotten(t *testing.T) {
	s := newScribe(t)
	for range 10 {
		s.change("old", "o")
	}
	s.change("held", "o")
	s.now = 2 * remember
	s.change("young", "o")
	s.change("young", "o")
	s.compact(0)
	s.takeOver()
	if _, ok := s.ledger.page("old").entries["old"]; ok {
		t.Error("what is free and old is still remembered")
	}
	for resource, want := range map[string]messages.Token{"old": 5, "new": 5, "held": 1, "young": 1} {
		image := s.ledger.image(resource)
		if got := image.Token(); got != want {
			t.Errorf("the last token of %s is %d, want %d", resource, got, want)
		}
	}
}

// A page that nobody changes any more is written again when it holds something to forget.
func TestForgottenInAQuietPage(t *testing.T) {
	s := newScribe(t)
	s.change("old", "o")
	s.change("old", "o")
	s.compact(0)
	s.now = 2 * remember
	s.compact(0)
	if n := len(s.ledger.page("old").entries); n != 0 {
		t.Errorf("%d resources are remembered, want none", n)
	}
}

// open makes one attempt.
func open(ctx context.Context, cfg ShardConfig, writer *messages.Writer) (*ledger, error) {
	o := opening{records: new(atomic.Uint64)}
	return o.run(ctx, cfg, writer)
}
