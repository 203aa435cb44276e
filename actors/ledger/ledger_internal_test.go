package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/actors/journaltest"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// scribe writes a journal as a shard does, without the actors: it keeps the live ledger.
type scribe struct {
	rapidOrT
	journal *journaltest.Memory
	ledger  *Ledger
	writer  *journal.Writer
	now     int64
	limit   int
	// block is how many tokens a lease has, and rest what is left of its shortest hold when it ends; 0: nothing.
	block, rest uint32
	// inUse reports whether a resource must stay although it is free.
	inUse  func(resource string) bool
	issued map[string]uint64
	// owners are those of the last persistent grants, ends how these ended.
	owners map[string]string
	ends   map[string]messages.Event_Kind
}

type rapidOrT interface {
	Helper()
	Fatalf(format string, args ...any)
}

func newScribe(t rapidOrT) *scribe {
	s := &scribe{rapidOrT: t, journal: journaltest.NewMemory(), limit: 1000, inUse: func(string) bool { return false },
		issued: map[string]uint64{}, owners: map[string]string{}, ends: map[string]messages.Event_Kind{},
	}
	s.takeOver()
	return s
}

// takeOver opens the journal as a new owner.
func (s *scribe) takeOver() {
	s.Helper()
	s.writer = &journal.Writer{Node: "n"}
	if err := s.open(); err != nil {
		s.Fatalf("open: %v", err)
	}
	s.ledger.Restart(s.time(), func(string, *lease.Image) {})
}

// time is the present time, as the clock of the owner has it.
func (s *scribe) time() lease.Time {
	return lease.Time{Instant: lease.Instant(time.Duration(s.now) * time.Millisecond), UnixMillis: s.now}
}

// open reads the journal into a new ledger and appends the first commit of an epoch.
func (s *scribe) open() error {
	l := New()
	last, err := s.journal.Replay(context.Background(), 0, func(position uint64, r *journal.Record) error {
		return l.Read(position, r, never)
	})
	if err != nil {
		return err
	}
	l.ReadTo(last)
	if err := l.Complete(); err != nil {
		return err
	}
	s.ledger = l
	opened := l.TakeOver(s.writer, s.now)
	s.append(opened)
	return l.Read(l.position+1, opened, never)
}

// change appends one change of a resource, of whatever kind is possible: a grant, or the release.
func (s *scribe) change(resource, owner string) { s.changeTo(resource, owner, messages.Event_RELEASED) }

// changeTo lets a lease that is held end as it says, and ends its rest.
func (s *scribe) changeTo(resource, owner string, end messages.Event_Kind) {
	s.Helper()
	image := s.ledger.Image(resource)
	c := &journal.Change{Kind: end, Grant: image.Last().Grant}
	switch {
	case image.Held():
		if s.ends[resource] = end; c.Grant.GetMinHoldMs() > 0 {
			c.RestingMs = s.rest
		}
	case image.HeldBack():
		if c.Kind = messages.Event_CONFIRMED; s.ends[resource] != messages.Event_RELEASED {
			s.ends[resource] = messages.Event_CONFIRMED
		}
	default:
		c.Kind = messages.Event_ACQUIRED
		c.Grant = &journal.Grant{Resource: resource, Owner: owner, Token: uint64(image.Token()) + 1, TtlMs: 1000,
			Tokens: s.block, MinHoldMs: s.rest}
		if c.Grant.Token <= s.issued[resource] {
			s.Fatalf("%s gets token %d again, behind %d", resource, c.Grant.Token, s.issued[resource])
		}
		s.issued[resource], s.owners[resource] = uint64(c.Grant.Last()), owner
	}
	s.commit(c)
}

// reserve appends a reservation of tokens of a resource that is free.
func (s *scribe) reserve(resource string) {
	s.Helper()
	image := s.ledger.Image(resource)
	if !image.IsFree() {
		return
	}
	s.issued[resource] = uint64(image.Token()) + 7
	delete(s.owners, resource)
	s.commit(&journal.Change{Resource: resource, Reserved: s.issued[resource]})
}

func (s *scribe) commit(changes ...*journal.Change) { s.commitAt(s.time().Instant, changes) }

// commitAt appends a commit of changes that were decided at an instant.
func (s *scribe) commitAt(decided lease.Instant, changes []*journal.Change) {
	s.Helper()
	r := s.ledger.Next(s.writer, s.now)
	r.GetCommit().Changes = changes
	s.append(r)
	if err := s.ledger.Read(s.ledger.position+1, r, func(int) lease.Instant { return decided }); err != nil {
		s.Fatalf("live: %v", err)
	}
}

// page stores the first page behind a hash that wants it, outside of any pass.
func (s *scribe) page(from uint64) {
	s.Helper()
	c := &Checkpoint{ledger: s.ledger, cursor: from}
	if r := c.Next(s.retention()); r != nil {
		s.append(r)
		c.Stored()
	}
}

// shrink lets all pages shrink what was not used for a while.
func (s *scribe) shrink() {
	s.ledger.pages.each(func(p *page) { p.shrink(s.now - shrinkAfter) })
}

// compact stores all pages that want it and purges the journal, but for the last keep commits.
func (s *scribe) compact(keep uint64) {
	s.Helper()
	c := s.ledger.Checkpoint()
	for complete := false; !complete; {
		r := c.Next(s.retention())
		if r == nil {
			break
		}
		s.append(r)
		complete = c.Stored()
	}
	s.ledger.pages.each(func(p *page) {
		if share := s.retention().share(p); p.free() > share {
			s.Fatalf("page %s remembers %d free resources, its share of %d is %d", p.name(), p.free(), s.limit, share)
		}
	})
	number := s.ledger.tail.Number
	through, obsolete := c.Purge(func(m Mark) bool { return m.Number < number-min(keep, number) })
	if err := s.journal.Purge(context.Background(), through, obsolete); err != nil {
		s.Fatalf("purge: %v", err)
	}
}

// remember is how long free resources are remembered here, shrinkAfter how long they are kept in full.
const (
	remember    = 1000
	shrinkAfter = 300
)

func (s *scribe) retention() Retention {
	return Retention{Before: s.now - remember, Limit: s.limit, InUse: s.inUse}
}

func (s *scribe) append(r *journal.Record) {
	s.Helper()
	if err := s.journal.Append(context.Background(), s.ledger.position, r); err != nil {
		s.Fatalf("append %s: %v", r.Describe(), err)
	}
}

// state is all that a ledger knows, in words, but for the times of use: a new owner counts these anew.
func state(l *Ledger) string {
	lines := map[string]string{}
	l.pages.each(func(p *page) {
		for resource, i := range p.entries {
			lines[resource] = fmt.Sprintf("%s: %s %d\n", resource, i.Last().How, i.Token())
			for h := range i.Holdings() {
				lines[resource] += fmt.Sprintf("  %v\n", inWords(h.Grant))
			}
			for l := range i.Ended() {
				lines[resource] += fmt.Sprintf("  lost %s, rests for %d: %v\n", l.How, l.RestMs, inWords(l.Grant))
			}
			if i.IsFree() {
				lines[resource] = fmt.Sprintf("%s: %+v\n", resource, unaged(newTombstone(i)))
			}
		}
		for resource, stone := range p.tombstones {
			lines[resource] = fmt.Sprintf("%s: %+v\n", resource, unaged(stone))
		}
	})
	var b strings.Builder
	for _, resource := range slices.Sorted(maps.Keys(lines)) {
		b.WriteString(lines[resource])
	}
	return b.String()
}

func unaged(t tombstone) tombstone {
	t.usedState &= 1<<stateBits - 1
	return t
}

// inWords is what a grant says: its digest is of all fields.
func inWords(g *journal.Grant) string {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(g)
	return fmt.Sprintf("%d: limit %d, slots %v, phase %d, former %d, in all %x %v",
		g.GetToken(), g.GetLimit(), g.GetSlots(), g.GetPhase(), g.GetFormer(), xxhash.Sum64(data), err)
}

// Whatever happened, and whenever it was compacted or forgotten: who opens the journal knows what
// its last owner knew, and no token is ever issued twice.
func TestReplayEqualsLive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newScribe(t)
		resources := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"})
		s.limit = rapid.SampledFrom([]int{1, 4, 1000}).Draw(t, "limit")
		padding := strings.Repeat("x", rapid.SampledFrom([]int{0, pageWeight / 4, pageWeight / 3}).Draw(t, "padding"))
		t.Repeat(map[string]func(*rapid.T){
			"change": func(t *rapid.T) {
				end := rapid.SampledFrom([]messages.Event_Kind{messages.Event_RELEASED, messages.Event_EXPIRED,
					messages.Event_BROKEN})
				s.block = rapid.SampledFrom([]uint32{0, 0, 5}).Draw(t, "block")
				s.rest = rapid.SampledFrom([]uint32{0, 0, 700}).Draw(t, "rest")
				s.changeTo(resources.Draw(t, "resource"), "o"+padding, end.Draw(t, "end"))
				s.block, s.rest = 0, 0
			},
			"reserve": func(t *rapid.T) { s.reserve(resources.Draw(t, "resource")) },
			"shrink": func(*rapid.T) {
				s.now += 2 * shrinkAfter
				s.shrink()
				s.compact(100) // else the next owner reads them whole
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
				s.checkCounts()
				s.checkEnds()
				s.checkCopy()
				s.takeOver()
				if got, want := state(s.ledger), state(live); got != want {
					t.Fatalf("replay:\n%slive:\n%s", got, want)
				}
				s.checkCounts()
				s.checkEnds()
				if s.ledger.floor != live.floor {
					t.Fatalf("replay has floor %d, live has %d", s.ledger.floor, live.floor)
				}
				if s.ledger.tail.Number != live.tail.Number+1 || s.ledger.tail.Epoch != live.tail.Epoch+1 {
					t.Fatalf("replay is at commit %d of epoch %d, live was at %d of %d",
						s.ledger.tail.Number, s.ledger.tail.Epoch, live.tail.Number, live.tail.Epoch)
				}
			},
		})
	})
}

// checkCopy checks that a ledger which adopts all resources of another one knows what that one knows.
func (s *scribe) checkCopy() {
	s.Helper()
	was, pages := s.ledger, 0
	adopted := New()
	for r := range was.Pages() {
		pages++
		for _, e := range r.GetPage().GetEntries() {
			if err := adopted.Adopt(e); err != nil {
				s.Fatalf("adopt: %v", err)
			}
			if adopted.Adopt(e) == nil {
				s.Fatalf("%q is adopted twice", e.Name())
			}
		}
		adopted.RaiseFloor(messages.Token(r.GetPage().GetFloor()))
	}
	if got, want := state(adopted), state(was); got != want || adopted.floor != was.floor {
		s.Fatalf("adopted:\n%sfloor %d, original:\n%sfloor %d", got, adopted.floor, want, was.floor)
	}
	was.pages.each(func(*page) { pages-- })
	if pages != 0 {
		s.Fatalf("%d pages too many", pages)
	}
}

// checkCounts checks what the ledger counts, and what its pages believe to be their oldest.
func (s *scribe) checkCounts() {
	s.Helper()
	held, free := 0, 0
	s.ledger.pages.each(func(p *page) {
		exact := *p
		exact.measure()
		if p.oldest > exact.oldest || p.fresh > exact.fresh {
			s.Fatalf("page %s: oldest %d, fresh %d; exactly %d, %d", p.name(), p.oldest, p.fresh, exact.oldest,
				exact.fresh)
		}
		weighed := 0
		for resource, e := range p.entries {
			held += e.Leases()
			if e.IsFree() {
				free++
			}
			weighed += e.weight()
			if _, twice := p.tombstones[resource]; twice {
				s.Fatalf("%s is there twice", resource)
			}
		}
		for resource := range p.tombstones {
			free++
			weighed += tombstoneWeight(resource)
		}
		if weighed != p.weight {
			s.Fatalf("page %s weighs %d, not %d", p.name(), weighed, p.weight)
		}
	})
	if s.ledger.free != free || s.ledger.held != held {
		s.Fatalf("%d are free and %d held, counted are %d and %d", free, held, s.ledger.free, s.ledger.held)
	}
}

// checkEnds checks that the last owner of a resource that is remembered learns how its lease ended, and
// that no other one does.
func (s *scribe) checkEnds() {
	s.Helper()
	for resource, owner := range s.owners {
		image := s.ledger.Image(resource)
		if _, known := s.ledger.pages.page(resource).find(resource); !known || !image.IsFree() {
			continue
		}
		want := messages.Status_EXPIRED
		if s.ends[resource] == messages.Event_RELEASED {
			want = messages.Status_RELEASED
		}
		for _, asker := range []struct {
			name string
			want messages.Status
		}{{owner, want}, {owner + "?", messages.Status_NOT_HELD}} {
			r := lease.New(resource, image, lease.NewEndedRequests(), lease.NewSessions(1)).Step(lease.Time{},
				lease.Release{Request: &messages.ReleaseRequest{Owner: asker.name}})
			if got := r.Answers[0].Reply.GetStatus(); got != asker.want {
				s.Fatalf("%s, whose last lease was %s: a release is answered %s, want %s", resource, s.ends[resource],
					got, asker.want)
			}
		}
	}
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
	s.ledger.pages.each(func(*page) { live++ })
	if pages != live || pages < 4 {
		t.Errorf("%d pages are stored, %d are in use", pages, live)
	}
}

// What cannot be true is named, and not served.
func TestCorruptJournals(t *testing.T) {
	held := &journal.Grant{Resource: "r", Owner: "o", Token: 1, TtlMs: 1000}
	change := func(kind messages.Event_Kind, token uint64) *journal.Record {
		r := commit(3, 1)
		r.GetCommit().Changes = []*journal.Change{{Kind: kind, Grant: &journal.Grant{Resource: "r", Token: token}}}
		return r
	}
	first, second := commit(1, 1), commit(2, 1)
	first.GetCommit().Opened = true
	second.GetCommit().Changes = []*journal.Change{{Kind: messages.Event_ACQUIRED, Grant: held}}
	strayed := pageRecord(&journal.Page{Prefix: 1, Depth: 1, Number: 2, Epoch: 1,
		Entries: []*journal.Entry{{Grant: held}}})
	if journal.Bits(journal.Hash("r"), 1) == 1 {
		strayed.GetPage().Prefix = 0
	}
	twice := pageRecord(&journal.Page{Number: 2, Epoch: 1, Entries: []*journal.Entry{{Grant: held}, {Grant: held}}})
	for name, test := range map[string]struct {
		third *journal.Record
		want  string
	}{
		"a commit is missing": {commit(4, 1),
			"position 3, commit 4 of epoch 1: stored record cannot be read: it follows commit 2, so a commit is " +
				"missing or was written twice"},
		"a commit stands twice": {commit(2, 1),
			"position 3, commit 2 of epoch 1: stored record cannot be read: it follows commit 2, so a commit is " +
				"missing or was written twice"},
		"another epoch without opening": {commit(3, 2),
			"position 3, commit 3 of epoch 2: stored record cannot be read: it follows epoch 1, so a deposed writer " +
				"wrote it"},
		"an older epoch": {commit(3, 0),
			"position 3, commit 3 of epoch 0: stored record cannot be read: it follows epoch 1, so a deposed writer " +
				"wrote it"},
		"a grant of what is held": {change(messages.Event_ACQUIRED, 2),
			`position 3, commit 3 of epoch 1: change 0: stored record cannot be read: grant of "r" token 2 where token 1 stands (ACQUIRED)`},
		"the end of another token": {change(messages.Event_RELEASED, 7),
			`position 3, commit 3 of epoch 1: change 0: stored record cannot be read: RELEASED of "r" token 7 where token 1 stands (ACQUIRED)`},
		"a page ahead of its time": {pageRecord(&journal.Page{Number: 9, Epoch: 1}),
			"position 3, page p at commit 9: stored record cannot be read: it was written behind commit 9 of epoch " +
				"1, but the last one read is commit 2 of epoch 1"},
		"a page that cannot be": {pageRecord(&journal.Page{Prefix: 4, Depth: 2, Number: 2, Epoch: 1}),
			"position 3, page p100 at commit 2: stored record cannot be read: no page can have prefix 4 of depth 2"},
		"a page with strangers": {strayed,
			fmt.Sprintf(
				"position 3, page %s at commit 2: stored record cannot be read: resource \"r\" belongs elsewhere",
				strayed.GetPage().Name())},
		"a page with a resource twice": {twice,
			"position 3, page p at commit 2: stored record cannot be read: resource \"r\" is there twice"},
		"neither commit nor page": {&journal.Record{Format: 1},
			"position 3, record without a body: stored record cannot be read: it has no body"},
		"a change that names no resource": {noResource(),
			"position 3, commit 3 of epoch 1: change 0: stored record cannot be read: it names no resource or no token"},
	} {
		t.Run(name, func(t *testing.T) {
			l := New()
			for i, r := range []*journal.Record{first, second} {
				if err := l.Read(uint64(i+1), r, never); err != nil {
					t.Fatal(err)
				}
			}
			err := l.Read(3, test.third, never)
			if !errors.Is(err, journal.ErrCorrupt) || err.Error() != test.want {
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
	_, err := s.journal.Replay(t.Context(), 0, func(p uint64, r *journal.Record) error {
		if page := r.GetPage(); page != nil {
			name, at = page.Name(), p
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.journal.Delete(at)
	err = s.open()
	want := fmt.Sprintf("page %s is missing", name)
	if !errors.Is(err, journal.ErrCorrupt) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// A journal that has lost all its commits is not taken for a new one, whether it has pages or nothing.
func TestNoCommit(t *testing.T) {
	for name, isLost := range map[string]func(*journal.Record) bool{
		"Pages":   func(r *journal.Record) bool { return r.GetCommit() != nil },
		"Nothing": func(*journal.Record) bool { return true },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScribe(t)
			s.change("r", "o")
			s.compact(0)
			_, err := s.journal.Replay(t.Context(), 0, func(position uint64, r *journal.Record) error {
				if isLost(r) {
					s.journal.Delete(position)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.open(); !errors.Is(err, journal.ErrCorrupt) ||
				!strings.Contains(err.Error(), "there is no commit up to position") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func never(int) lease.Instant { return 0 }

func commit(number, epoch uint64) *journal.Record {
	r := journaltest.Commit(number, 1)
	r.GetCommit().Epoch = epoch
	return r
}

func pageRecord(p *journal.Page) *journal.Record {
	return &journal.Record{Format: journal.Format, Body: &journal.Record_Page{Page: p}}
}

func noResource() *journal.Record {
	r := commit(3, 1)
	r.GetCommit().Changes = []*journal.Change{{Kind: messages.Event_ACQUIRED, Grant: &journal.Grant{Token: 1}}}
	return r
}

// What has not been used for long leaves the bucket, and leaves its mark on every token to come.
func TestForgotten(t *testing.T) {
	s := newScribe(t)
	for range 10 {
		s.change("old", "o")
	}
	s.change("held", "o")
	s.rest = 1
	for range 2 {
		s.change("resting", "o")
	}
	s.block, s.rest = 30, 0
	for range 2 {
		s.change("block", "o")
	}
	s.block = 0
	s.now = 2 * remember
	s.change("young", "o")
	s.change("young", "o")
	s.compact(0)
	s.takeOver()
	if _, ok := s.ledger.pages.page("old").entries["old"]; ok {
		t.Error("what is free and old is still remembered")
	}
	for resource, want := range map[string]messages.Token{"old": 30, "new": 30, "block": 30, "held": 1, "young": 1,
		"resting": 1} {
		image := s.ledger.Image(resource)
		if got := image.Token(); got != want {
			t.Errorf("the last token of %s is %d, want %d", resource, got, want)
		}
	}
}

// A page that does not change any more is written again when it holds something to forget.
func TestForgottenInAQuietPage(t *testing.T) {
	s := newScribe(t)
	s.change("old", "o")
	s.change("old", "o")
	s.compact(0)
	s.now = 2 * remember
	s.compact(0)
	if n := len(s.ledger.pages.page("old").entries); n != 0 {
		t.Errorf("%d resources are remembered, want none", n)
	}
}

// What an earlier version stored, with every grant whole, is read and carried on.
func TestPagesOfWholeGrants(t *testing.T) {
	s := newScribe(t)
	s.now = 2 * shrinkAfter
	grant := func(resource string) *journal.Grant {
		return &journal.Grant{
			Resource: resource, Owner: "o", Token: 7, TtlMs: 1000, AcquiredAtMs: 1, RequestId: "x",
			Metadata: map[string]string{"k": "v"},
		}
	}
	s.append(pageRecord(&journal.Page{Number: s.ledger.tail.Number, Epoch: s.ledger.tail.Epoch, Floor: 3,
		Entries: []*journal.Entry{
			{Grant: grant("held"), State: messages.Event_ACQUIRED, UsedMs: 1},
			{Grant: grant("released"), State: messages.Event_RELEASED, UsedMs: 1},
			{Grant: grant("recent"), State: messages.Event_RELEASED, UsedMs: s.now},
			{Grant: grant("reserved"), State: messages.Event_EXPIRED, Reserved: 1007, UsedMs: 1},
			{Resource: "ephemeral", Reserved: 1000, UsedMs: 1},
		}}))
	for range 2 { // and again from what it makes of that
		s.takeOver()
		s.shrink()
		if s.ledger.held != 1 || s.ledger.free != 4 || len(s.ledger.pages.page("").tombstones) != 3 {
			t.Errorf("%d are held, %d free, %d shrunk", s.ledger.held, s.ledger.free,
				len(s.ledger.pages.page("").tombstones))
		}
		for resource, want := range map[string]messages.Token{"held": 7, "released": 7, "recent": 7, "reserved": 1007,
			"ephemeral": 1000, "new": 3} {
			image := s.ledger.Image(resource)
			if image.Token() != want {
				t.Errorf("the last token of %s is %d, want %d", resource, image.Token(), want)
			}
		}
		s.owners = map[string]string{"released": "o", "recent": "o"}
		s.ends = map[string]messages.Event_Kind{"released": messages.Event_RELEASED, "recent": messages.Event_RELEASED}
		s.checkEnds()
		if image := s.ledger.Image("recent"); image.Last().Grant.GetRequestId() != "x" {
			t.Error("a resource that was used just now lacks its request id")
		}
		s.ledger.pages.page("").dirty = true
		s.page(0)
	}
}

// The share of a page is its part of the limit, and no page is without any.
func TestShares(t *testing.T) {
	for _, tc := range []struct {
		limit int
		depth uint32
		want  int
	}{{1000, 0, 1000}, {1000, 3, 125}, {1001, 3, 126}, {5, 10, 1}} {
		if got := (Retention{Limit: tc.limit}).share(newPage(0, tc.depth)); got != tc.want {
			t.Errorf("a page of depth %d has %d of %d, want %d", tc.depth, got, tc.limit, tc.want)
		}
	}
}

// A step of a scan looks at a bounded number of entries, and at none of pages without a lease.
func TestScanInSteps(t *testing.T) {
	l := New()
	grant := func(name string, kind messages.Event_Kind) *journal.Change {
		return &journal.Change{Kind: kind, Grant: &journal.Grant{Resource: name, Owner: strings.Repeat("o", 200),
			Token: 1}}
	}
	var changes []*journal.Change
	for i := range 6000 {
		changes = append(changes, grant(fmt.Sprint("r", i), messages.Event_ACQUIRED))
		if i >= 20 {
			changes = append(changes, grant(fmt.Sprint("r", i), messages.Event_RELEASED))
		}
	}
	read := func(number uint64) {
		r := commit(number, 1)
		r.GetCommit().Opened = number == 1
		r.GetCommit().Changes = changes
		if err := l.Read(number, r, never); err != nil {
			t.Fatal(err)
		}
	}
	read(1)
	l.pages.each(func(p *page) { p.shrink(math.MaxInt64) })
	steps := func() (n, found int) {
		q := Query{Limit: 1 << 20, Bytes: 1 << 30}
		q.Pattern, _ = messages.ParsePattern("")
		scan := NewScan(q)
		for done := false; !done; n++ {
			done = scan.Step(l, lease.NewSessions(1), 0, nil)
		}
		return n, len(scan.Result().Leases)
	}
	if n, found := steps(); n != 1 || found != 20 {
		t.Errorf("20 leases among 6 000 resources took %d steps, and %d were found", n, found)
	}
	changes = nil
	for i := range 5000 {
		changes = append(changes, grant(fmt.Sprint("s", i), messages.Event_ACQUIRED))
	}
	read(2)
	if n, found := steps(); n < 4 || found != 5020 {
		t.Errorf("5 020 leases took %d steps, and %d were found", n, found)
	}
}
