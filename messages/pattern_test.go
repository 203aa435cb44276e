package messages_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/blindtest"
)

func TestPatternMatches(t *testing.T) {
	for _, tc := range []struct {
		pattern, key string
		want         bool
	}{
		{"", "a", true},
		{"", "a.b.c", true},
		{">", "a.b.c", true},
		{"a", "a", true},
		{"a", "b", false},
		{"a", "a.b", false},
		{"a.b", "a", false},
		{"*", "a", true},
		{"*", "a.b", false},
		{"orders.*", "orders.42", true},
		{"orders.*", "orders", false},
		{"orders.*", "orders.42.lines", false},
		{"orders.>", "orders.42", true},
		{"orders.>", "orders.42.lines", true},
		{"orders.>", "orders", false},
		{"orders.>", "orders2.42", false},
		{"*.42", "orders.42", true},
		{"*.42", "42", false},
		{"*.*.>", "a.b", false},
		{"*.*.>", "a.b.c.d", true},
		{"a.*.c", "a.b.c", true},
		{"a.*.c", "a.b.d", false},
		{"a.=2Eb", "a.=2Eb", true},
		{"a.*", "a.=2Eb", true},
		{"a=2E", "a=2E", true},
		{"caf=C3=A9", "caf=C3=A9", true},
		{"orders", "Orders", false},
		{">", "", false},
		{"*", "", false},
	} {
		p := mustPattern(t, tc.pattern)
		if got := p.Matches(tc.key); got != tc.want {
			t.Errorf("%q matches %q: %t, want %t", tc.pattern, tc.key, got, tc.want)
		}
	}
}

func TestZeroPattern(t *testing.T) {
	var zero messages.Pattern
	if zero.String() != ">" || !zero.Matches("a.b") || mustPattern(t, "") != zero {
		t.Errorf("the zero Pattern is %q", zero)
	}
}

func TestPatternString(t *testing.T) {
	for _, s := range []string{">", "*", "a.*.>", "a=3Ab.=2E"} {
		if got := mustPattern(t, s).String(); got != s {
			t.Errorf("ParsePattern(%q).String() = %q", s, got)
		}
	}
}

func TestIllegalPattern(t *testing.T) {
	for _, s := range []string{
		".", "a.", ".a", "a..b", // an empty level
		">.a", "a.>.b", ">>", "a>", "a*", "*a", "**", // a wildcard in the wrong place
		"a:b", "a b", "é", "a\x00", "a\xff", "a\r\nb", // not escaped
		"=2", "=2e", "=41", "a=2Eb", "=2E.a", "*.a=2E.>", "cafe=CC=81", "=FF", // not canonical
		strings.Repeat("a", 513), strings.Repeat("*.", 256) + "*", // longer than any key
	} {
		_, err := messages.ParsePattern(s)
		checkInvalid(t, err)
	}
	_, err := messages.ParsePattern("a.>.b")
	wantInvalid(t, err, `pattern: a key in which * is one level and > the rest, got "a.>.b"`)
}

func TestEveryKeyIsAPattern(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := mustKey(t, resources().Draw(t, "resource"))
		if !mustPattern(t, key).Matches(key) {
			t.Fatalf("%q does not match itself", key)
		}
		levels := strings.Split(key, ".")
		i := rapid.IntRange(0, len(levels)-1).Draw(t, "level")
		rest := strings.Join(append(slices.Clone(levels[:i]), ">"), ".")
		if !mustPattern(t, rest).Matches(key) {
			t.Fatalf("%q does not match %q", rest, key)
		}
		levels[i] = "*"
		one := strings.Join(levels, ".")
		if !mustPattern(t, one).Matches(key) {
			t.Fatalf("%q does not match %q", one, key)
		}
	})
}

func TestMatchingCostsNoAllocation(t *testing.T) {
	p := mustPattern(t, "orders.*.>")
	wantNoAllocation(t, "Matches", func() { p.Matches("orders.42.lines.7") })
}

func FuzzPattern(f *testing.F) {
	target := blindtest.New(f)
	target.Add("", "a")
	target.Add("orders.*", "orders.42")
	target.Add("orders.>", "orders.42.lines")
	target.Add("*.*", "a.=2Eb")
	target.Add("a=2Eb", "a.b")
	target.Add(">.a", "b.a")
	target.Add("*.>", "a..b")
	target.Add("a.>", "a.")
	target.Fuzz(func(t *testing.T, pattern, key string) {
		p, err := messages.ParsePattern(pattern)
		if err != nil {
			checkInvalid(t, err)
			return
		}
		if again := mustPattern(t, p.String()); again.String() != p.String() {
			t.Errorf("%q becomes %q", p, again)
		}
		if _, err := messages.DecodeKey(key); err != nil {
			p.Matches(key) // must not panic; what it says of what is no key does not matter
			return
		}
		if got, want := p.Matches(key), matches(strings.Split(p.String(), "."), strings.Split(key, ".")); got != want {
			t.Errorf("%q matches %q: %t, want %t", p, key, got, want)
		}
	})
}

func BenchmarkPatternMatches(b *testing.B) {
	p := mustPattern(b, "orders.*.>")
	b.ReportAllocs()
	for b.Loop() {
		p.Matches("orders.42.lines.7")
	}
}

// matches is the rule of NATS, word for word.
func matches(pattern, key []string) bool {
	switch {
	case len(pattern) == 0 || len(key) == 0:
		return len(pattern) == len(key)
	case pattern[0] == ">":
		return true
	case pattern[0] == "*" || pattern[0] == key[0]:
		return matches(pattern[1:], key[1:])
	}
	return false
}

func mustPattern(t fataler, s string) messages.Pattern {
	t.Helper()
	p, err := messages.ParsePattern(s)
	if err != nil {
		t.Fatalf("ParsePattern(%q): %v", s, err)
	}
	return p
}
