package fencetest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence"
)

func firstToken(t *testing.T, s Subject) {
	// 15 digits of tokens must not pass through a float or 32 bits.
	for _, first := range []fence.Token{1, 1 << 31, 1 << 32, 900_000_000_000_000} {
		r := begin(t, s, fence.Repeatable)
		r.accepts(first, "first")
		r.reads("first")
	}
}

// textbook is the run that every text on the subject draws: 33 is granted and paused, 34 is granted and
// writes, 33 wakes up.
func textbook(t *testing.T, s Subject) {
	r := begin(t, s, fence.Repeatable)
	r.accepts(33, "by 33")
	r.accepts(34, "by 34")
	r.refuses(33, 34)
	r.reads("by 34")
	r.accepts(34, "by 34 again")
	r.accepts(100, "by 100") // nine less than ten as text
	r.refuses(99, 100)
	r.reads("by 100")
}

func equalToken(t *testing.T, s Subject) {
	r := begin(t, s, fence.Repeatable)
	for _, value := range []string{"one", "two", "two", ""} {
		r.accepts(7, value)
		r.reads(value)
	}
}

func once(t *testing.T, s Subject) {
	r := begin(t, s, fence.Once)
	r.accepts(7, "done")
	r.refuses(7, 7)
	r.refuses(6, 7)
	r.reads("done")
	r.accepts(8, "next")
}

func invalid(t *testing.T, s Subject) {
	r := begin(t, s, fence.Repeatable)
	r.accepts(3, "kept")
	for name, c := range map[string]fence.Claim{
		"no token":       {Resource: r.resource},
		"token too high": {Resource: r.resource, Token: 900_000_000_000_001},
		"token wraps":    {Resource: r.resource, Token: 1 << 63},
		"no resource":    {Token: 4},
		"control":        {Resource: r.resource + "\x00", Token: 4},
	} {
		if err := r.Write(t.Context(), c, "lost"); !errors.Is(err, fence.ErrInvalid) || errors.Is(err, fence.ErrStale) {
			t.Errorf("%s: %v, want one that is ErrInvalid", name, err)
		}
	}
	r.reads("kept")
}

func twoResources(t *testing.T, s Subject) {
	one := begin(t, s, fence.Repeatable)
	other := &register{TB: t, Register: one.Register, resource: resource()}
	one.accepts(50, "one")
	other.accepts(2, "other")
	one.refuses(49, 50)
	other.refuses(1, 2)
	one.reads("one")
	other.reads("other")
}

// oddNames are distinguished whatever the store makes of letters, spaces, wildcards, quotes and slashes.
// A guard may refuse a name as invalid, but never take one name for another.
func oddNames(t *testing.T, s Subject) {
	guarded := s.Open(t, fence.Repeatable)
	base := resource()
	names := []string{base, base + " ", base + ".", base + "/", base + "/..", base + "*", base + ">", base + "%",
		base + "_",
		base + "'", base + `"`, base + `\`, base + "=2E", base + "é", base + "É", base + "ss", base + "ß", base + "SS",
		base + "{a}", base + "🔒"}
	var held []*register
	for i, name := range names {
		r := &register{TB: t, Register: guarded, resource: name}
		err := r.Write(t.Context(), r.claim(fence.Token(100-i)), name)
		switch {
		case errors.Is(err, fence.ErrInvalid):
			t.Logf("%q: not possible here: %v", name, err)
		case err != nil:
			t.Errorf("%q: %v", name, err)
		default:
			held = append(held, r)
		}
	}
	if len(held) < len(names)/2 {
		t.Errorf("only %d of %d names are possible", len(held), len(names))
	}
	for _, r := range held {
		r.reads(r.resource)
	}
}

// cancelled callers get an error, and the guard goes on working.
func cancelled(t *testing.T, s Subject) {
	r := begin(t, s, fence.Repeatable)
	r.accepts(1, "before")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Write(ctx, r.claim(2), "cancelled"); err == nil {
		t.Error("a write whose context had ended reports success")
	} else if errors.Is(err, fence.ErrStale) {
		t.Errorf("a write whose context had ended is refused as stale: %v", err)
	}
	r.accepts(3, "after")
	r.reads("after")
}

func marks(t *testing.T, s Subject) {
	if s.Marks == nil {
		t.Skip("this guard keeps marks only beside its data")
	}
	m, c := s.Marks(t, fence.Repeatable), fence.Claim{Resource: resource(), Token: 33}
	raise := func(m fence.Marks, token fence.Token) error {
		c.Token = token
		return m.Raise(t.Context(), c)
	}
	for _, token := range []fence.Token{33, 33, 34} {
		if err := raise(m, token); err != nil {
			t.Fatal(err)
		}
	}
	wantStale(t, raise(m, 33), 33, 34)
	s.Restart(t)
	wantStale(t, raise(s.Marks(t, fence.Repeatable), 33), 33, 34)
	wantStale(t, raise(s.Marks(t, fence.Once), 34), 34, 34)
	if err := s.Marks(t, fence.Repeatable).Raise(t.Context(), fence.Claim{}); !errors.Is(err, fence.ErrInvalid) {
		t.Errorf("the zero claim: %v", err)
	}
}

// restart of the store between writes: marks and data are still there, and agree.
func restart(t *testing.T, s Subject) {
	r := begin(t, s, fence.Repeatable)
	r.accepts(33, "by 33")
	r.accepts(34, "by 34")
	s.Restart(t)
	r.Register = s.Open(t, fence.Repeatable)
	r.reads("by 34")
	r.refuses(33, 34)
	r.accepts(34, "by 34 again")
	s.Restart(t)
	r.Register = s.Open(t, fence.Once)
	r.refuses(34, 34)
	r.accepts(35, "by 35")
	r.reads("by 35")
	if s.History == nil {
		return
	}
	if got, want := s.History(t, r.resource), []string{"by 33", "by 34", "by 34 again", "by 35"}; !slices.Equal(got, want) {
		t.Errorf("the history is %q, want %q", got, want)
	}
}
