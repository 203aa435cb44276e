package watch

import (
	"errors"
	"slices"
	"testing"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// newHolders returns holders whose oldest commit is the seventh.
func newHolders() *holders {
	return &holders{
		sequence: sequence{number: 6}, end: 1 << 32,
		pages: make(map[string]leases), changed: make(leases),
	}
}

func commitOf(number uint64, kind messages.Event_Kind, resource string) *journal.Record {
	return commitOfLease(number, kind, resource, 1)
}

func commitOfLease(number uint64, kind messages.Event_Kind, resource string, token uint64) *journal.Record {
	change := &journal.Change{Kind: kind, Grant: &journal.Grant{Resource: resource, Token: token}}
	return &journal.Record{Body: &journal.Record_Commit{
		Commit: &journal.Commit{Number: number, Changes: []*journal.Change{change}}}}
}

// pageOf is a page with those of the resources that belong there, all of them held.
func pageOf(prefix, depth uint32, resources ...string) *journal.Record {
	p := &journal.Page{Prefix: prefix, Depth: depth}
	for _, r := range resources {
		if journal.Bits(journal.Hash(r), depth) == prefix {
			p.Entries = append(p.Entries, &journal.Entry{State: messages.Event_ACQUIRED,
				Grant: &journal.Grant{Resource: r, Token: 1}})
		}
	}
	return &journal.Record{Body: &journal.Record_Page{Page: p}}
}

func (h *holders) mustTake(t *testing.T, records ...*journal.Record) {
	t.Helper()
	for i, r := range records {
		if err := h.take(uint64(i+1), r); err != nil {
			t.Fatal(err)
		}
	}
}

func (h *holders) wantHeld(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, g := range h.grants() {
		got = append(got, g.GetResource())
	}
	if !slices.Equal(got, want) {
		t.Errorf("held: %q, wanted %q", got, want)
	}
}

func TestHoldersFollowCommits(t *testing.T) {
	h := newHolders()
	h.mustTake(t, pageOf(0, 0, "a", "b", "c"),
		commitOf(6, messages.Event_ACQUIRED, "older than what was looked up"),
		commitOf(7, messages.Event_RELEASED, "a"), commitOf(8, messages.Event_EXTENDED, "b"),
		commitOf(9, messages.Event_ACQUIRED, "d"))
	h.wantHeld(t, "b", "c", "d")
	if err := h.take(9, commitOf(11, messages.Event_EXPIRED, "b")); !errors.Is(err, errAgain) {
		t.Errorf("a commit was missing, and that was %v", err)
	}
	h.end = 10
	if err := h.take(10, commitOf(10, messages.Event_EXPIRED, "b")); !errors.Is(err, errEnough) {
		t.Errorf("the end was %v", err)
	}
	h.wantHeld(t, "c", "d")
}

// A page that was split may be there still, with what was held when it was written.
func TestHoldersBelieveTheSmallerPage(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	h := newHolders()
	h.mustTake(t, pageOf(0, 0, names...), pageOf(0, 1), pageOf(2, 2, names...))
	var want []string
	for _, name := range names {
		if journal.Bits(journal.Hash(name), 1) == 1 {
			want = append(want, name)
		}
	}
	h.wantHeld(t, want...)
	if len(want) == 0 || len(want) == len(names) {
		t.Error("all names are of one half")
	}
	h.mustTake(t, pageOf(2, 2), pageOf(3, 2))
	h.wantHeld(t)
}

func TestHoldersMissNoPage(t *testing.T) {
	h := newHolders()
	for _, step := range []struct {
		page    *journal.Record
		covered bool
	}{
		{pageOf(0, 1), false}, {pageOf(2, 2), false}, {pageOf(6, 3), false}, {pageOf(0, 2), false},
		{pageOf(7, 3), true}, {pageOf(0, 0), true},
	} {
		h.mustTake(t, step.page)
		if h.covered() != step.covered {
			t.Errorf("behind page %s: %v", step.page.GetPage().Name(), h.covered())
		}
	}
}

// The leases of a shared resource are distinguished by their tokens, also those that a page has without their resource,
// and those beside a last grant that has ended.
func TestHoldersOfOneResource(t *testing.T) {
	page := &journal.Page{Entries: []*journal.Entry{
		{State: messages.Event_ACQUIRED, Grant: &journal.Grant{Resource: "a", Token: 3},
			Others: []*journal.Grant{{Token: 1}, {Token: 2}}},
		{State: messages.Event_EXPIRED, Grant: &journal.Grant{Resource: "b", Token: 9},
			Others: []*journal.Grant{{Token: 7}, {Token: 8}}},
	}}
	h := newHolders()
	h.mustTake(t, &journal.Record{Body: &journal.Record_Page{Page: page}},
		commitOfLease(7, messages.Event_RELEASED, "a", 2), commitOfLease(8, messages.Event_ACQUIRED, "a", 4),
		commitOfLease(9, messages.Event_EXTENDED, "b", 7))
	h.wantHeld(t, "a", "a", "a", "b", "b")
	var tokens []uint64
	for _, g := range h.grants() {
		tokens = append(tokens, g.GetToken())
	}
	if want := []uint64{1, 3, 4, 7, 8}; !slices.Equal(tokens, want) {
		t.Errorf("the tokens %v are held, want %v", tokens, want)
	}
}
