package ledger

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// What is noted of a resource without an actor counts once, stays when its page is split, and is forgotten with it.
func TestSuspended(t *testing.T) {
	s := newScribe(t)
	ended := lease.Restore(&journal.Entry{
		Grant: &journal.Grant{Owner: "o", Token: 7, Metadata: map[string]string{"k": "v"}},
		State: messages.Event_RELEASED,
	})
	ended.Reserved = 1000
	const names = 3000 // more than a page
	for i := range names {
		name := fmt.Sprint("r", i)
		s.commit(&journal.Change{Resource: name, Reserved: 1000})
		s.ledger.Suspend(name, ended, lease.Instant(i))
	}
	s.ledger.Suspend("unknown", ended, 1)
	if i := s.ledger.Resume("unknown"); i.Token() != 0 || i.Reserved != 0 {
		t.Errorf("of an unknown resource %+v is noted", i)
	}
	if len(s.ledger.pages.slots) == 1 {
		t.Fatal("one page: the test is vacuous")
	}
	for i := range names {
		name := fmt.Sprint("r", i)
		if i := s.ledger.Resume(name); i.Token() != 7 || i.Reserved != 1000 ||
			i.Last().How != messages.Event_RELEASED || i.OwnerDigest == 0 {
			t.Fatalf("%s: resumed as %+v", name, i)
		}
		if i := s.ledger.Resume(name); i.Token() != 1000 || i.Reserved != 0 {
			t.Fatalf("%s: resumed once more as %+v", name, i)
		}
		s.ledger.Suspend(name, ended, lease.Instant(i))
	}
	s.limit = 0
	s.compact(0)
	s.ledger.pages.each(func(p *page) {
		if n := len(p.suspended); n > 0 {
			t.Errorf("of %d forgotten resources something is noted", n)
		}
	})
	if i := s.ledger.Resume("r0"); i.Token() != 1000 || i.Reserved != 0 {
		t.Errorf("a forgotten resource is resumed as %+v", i)
	}
}

// Of an ephemeral block the next actor goes on behind the last token, and the owner learns how it ended by the first.
func TestSuspendedBlock(t *testing.T) {
	k := newKeeper(t)
	k.step("r", k.acquire(1, 1, ephemeral, func(r *messages.AcquireRequest) { r.Owner, r.Tokens = "ann", 10 }))
	k.step("r", lease.Extend{Request: &messages.ExtendRequest{Owner: "ann", TtlMs: 1000, Tokens: 30}})
	release := lease.Release{Request: &messages.ReleaseRequest{Owner: "ann", Token: 1}}
	k.step("r", release)
	k.ledger.Suspend("r", k.states["r"].Image(), k.clock)
	if i := k.ledger.Image("r"); i.Token() != 1009 {
		t.Errorf("token %d is recorded as reserved, want 1009", i.Token())
	}
	i := k.ledger.Resume("r")
	if i.Token() != 30 || i.Reserved != 1009 {
		t.Errorf("resumed as %+v", i)
	}
	o := lease.New("r", i, lease.NewEndedRequests(), lease.NewSessions(1)).Step(lease.Time{}, release)
	if got := o.Answers[0].Reply.GetStatus(); got != messages.Status_RELEASED {
		t.Errorf("a release again: %v", got)
	}
	if i := k.ledger.Resume("r"); i.Token() != 1009 {
		t.Errorf("resumed once more as %+v", i)
	}
}

// The resources that were in use last are forgotten last, also if nothing was recorded of that use.
func TestSuspendedCountsAsUse(t *testing.T) {
	s := newScribe(t)
	for _, name := range []string{"first", "second"} {
		s.now++
		s.commit(&journal.Change{Resource: name, Reserved: 1000})
	}
	s.ledger.pages.each(func(p *page) { p.shrink(s.now) }) // the first one
	s.ledger.Suspend("first", lease.Image{Floor: 7, Reserved: 1000}, s.time().Add(time.Millisecond))
	s.limit = 1
	s.compact(0)
	if i := s.ledger.Resume("first"); i.Token() != 7 || i.Reserved != 1000 {
		t.Errorf("resumed as %+v", i)
	}
}
