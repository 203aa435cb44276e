package fencetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/messages"
)

// phase is the fence of all readers that hold at the same time, the token of the first of them. They do not
// refuse one another, a writer of an earlier phase is refused, and the next writer refuses them.
func phase(t *testing.T, s Subject) {
	one := begin(t, s, fence.Repeatable)
	other := &register{TB: t, Register: s.Open(t, fence.Repeatable), resource: one.resource}
	one.accepts(33, "by a writer")
	for _, reader := range []*register{other, one, one, other} {
		reader.accepts(34, "by a reader")
	}
	one.refuses(33, 34)
	other.refuses(33, 34)
	one.accepts(37, "by the next writer") // 35 and 36 are the tokens of further readers
	other.refuses(34, 37)
	one.refuses(34, 37)
	other.reads("by the next writer")
}

// slots of one resource have separate marks, which are not the mark of the resource either.
func slots(t *testing.T, s Subject) {
	guarded, gpu := s.Open(t, fence.Repeatable), resource()
	holderOf := func(resource string) *register { return &register{TB: t, Register: guarded, resource: resource} }
	first, second, eleventh, whole := holderOf(gpu+"#0"), holderOf(gpu+"#1"), holderOf(gpu+"#10"), holderOf(gpu)
	second.accepts(34, "second, by 34")
	first.accepts(33, "first, by 33")
	first.accepts(35, "first, by 35") // the lease of 33 has ended
	first.refuses(33, 35)
	second.accepts(34, "second, by 34 again")
	eleventh.accepts(32, "eleventh, by 32")
	whole.accepts(1, "whole, by 1")

	first.reads("first, by 35")
	second.reads("second, by 34 again")
	eleventh.reads("eleventh, by 32")
	whole.reads("whole, by 1")
	second.refuses(33, 34)
	eleventh.refuses(31, 32)
}

// longNames are as long as a resource may be, in letters and in characters that a store may have to escape,
// and are distinguished by their last character.
func longNames(t *testing.T, s Subject) {
	guarded := s.Open(t, fence.Repeatable)
	for _, filler := range []string{"x", "#"} {
		base := resource()
		base += strings.Repeat(filler, messages.MaxResourceBytes-len(base)-len("#0"))
		var slots []*register
		for i := range 2 {
			slots = append(slots, &register{TB: t, Register: guarded, resource: fmt.Sprintf("%s#%d", base, i)})
		}
		slots[0].accepts(35, "first")
		slots[1].accepts(34, "second")
		slots[0].refuses(34, 35)
		slots[1].refuses(33, 34)
		slots[0].reads("first")
		slots[1].reads("second")
	}
}

// raise raises the mark that Write checks, and leaves the value as it is.
func raise(t *testing.T, s Subject) {
	if s.Marks == nil || s.Apart {
		t.Skip("this guard raises the mark of its data only with a write")
	}
	r, m := begin(t, s, fence.Repeatable), s.Marks(t, fence.Repeatable)
	raises := func(m fence.Marks, token fence.Token) {
		t.Helper()
		if err := m.Raise(t.Context(), r.claim(token)); err != nil {
			t.Fatalf("%q, raising to %d: %v", r.resource, token, err)
		}
	}
	raises(m, 32) // before the first write
	r.reads("")
	r.refuses(31, 32)
	r.accepts(33, "by 33")
	wantStale(t, m.Raise(t.Context(), r.claim(32)), 32, 33)
	for range 2 { // by two readers of one phase
		raises(m, 34)
		r.reads("by 33")
		r.refuses(33, 34)
	}
	r.accepts(34, "by 34")

	raises(m, 35)
	s.Restart(t)
	r.Register = s.Open(t, fence.Repeatable)
	r.reads("by 34")
	r.refuses(34, 35)
	r.accepts(35, "by 35")

	spends := s.Marks(t, fence.Once)
	raises(spends, 36)
	wantStale(t, spends.Raise(t.Context(), r.claim(36)), 36, 36)
	r.Register = s.Open(t, fence.Once)
	r.refuses(36, 36)
	r.reads("by 35")
	r.accepts(37, "by 37")

	for name, c := range map[string]fence.Claim{"no token": r.claim(0), "no resource": {Token: 38}} {
		if err := s.Marks(t, fence.Repeatable).Raise(t.Context(), c); !errors.Is(err, fence.ErrInvalid) {
			t.Errorf("%s: %v, want one that is ErrInvalid", name, err)
		}
	}
	if s.History == nil {
		return
	}
	// A store that keeps the mark beside the value may show the same value again.
	got := slices.DeleteFunc(slices.Compact(s.History(t, r.resource)), func(v string) bool { return v == "" })
	if want := []string{"by 33", "by 34", "by 35", "by 37"}; !slices.Equal(got, want) {
		t.Errorf("the history is %q, want %q", got, want)
	}
}
