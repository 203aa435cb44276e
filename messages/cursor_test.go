package messages_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/messages"
)

func TestCursor(t *testing.T) {
	for _, tc := range []struct {
		text string
		want messages.Cursor
	}{
		{"", messages.Cursor{}},
		{"orders.42", messages.Cursor{Resource: "orders.42"}},
		{"orders.42\n7", messages.Cursor{Resource: "orders.42", Token: 7}},
		{"a b/é>*\n900000000000000", messages.Cursor{Resource: "a b/é>*", Token: messages.MaxToken}},
		{strings.Repeat("a", 512) + "\n1", messages.Cursor{Resource: strings.Repeat("a", 512), Token: 1}},
	} {
		got, err := messages.ParseCursor(tc.text)
		if err != nil || got != tc.want {
			t.Errorf("%q: got %+v, %v, want %+v", tc.text, got, err, tc.want)
		}
		if again := tc.want.String(); again != tc.text {
			t.Errorf("%+v is written as %q, want %q", tc.want, again, tc.text)
		}
	}
}

// The cursor of an operator may have the qualified name of a resource, which those of clients do not.
func TestQualifiedCursor(t *testing.T) {
	for _, want := range []messages.Cursor{
		{}, {Resource: "a"}, {Resource: "a", Token: 7}, {Resource: messages.Qualify("ORDERS", "a b")},
		{Resource: messages.Qualify("ORDERS", "a"), Token: 7},
	} {
		got, err := messages.ParseQualifiedCursor(want.String())
		if err != nil || got != want {
			t.Errorf("%+v: got %+v, %v", want, got, err)
		}
		_, err = messages.ParseCursor(want.String())
		if tenant, _ := messages.Unqualify(want.Resource); (err == nil) != (tenant == "") {
			t.Errorf("%+v: a client may send it: %v", want, err)
		}
	}
	for _, text := range []string{"\x1f", "\x1fA", "\x1fA\x1f", "\x1f\x1fa", "\x1fa.b\x1fa", "\x1fA\x1fa\x1f",
		"\x1fA\x1fa\n0", "\x1fA\x1f\n1", "a\x1fb"} {
		if got, err := messages.ParseQualifiedCursor(text); err == nil {
			t.Errorf("%q: got %+v", text, got)
		}
	}
}

func TestNoCursor(t *testing.T) {
	const rule = "after: a resource, or next of an earlier page, got "
	for text, want := range map[string]string{
		"\n1":                             "after: 1 to 512 bytes, got 0 bytes",
		strings.Repeat("a", 513) + "\n1":  "after: 1 to 512 bytes, got 513 bytes",
		"a\x00\n1":                        `after: UTF-8 without control characters, got "a\x00"`,
		"cafe\u0301\n1":                   `after: Unicode NFC, got "cafe\u0301"`,
		"a\n":                             rule + `"a\n"`,
		"a\n0":                            rule + `"a\n0"`,
		"a\n07":                           rule + `"a\n07"`,
		"a\n+7":                           rule + `"a\n+7"`,
		"a\n-7":                           rule + `"a\n-7"`,
		"a\n7 ":                           rule + `"a\n7 "`,
		"a\n7\n8":                         rule + `"a\n7\n8"`,
		"a\n900000000000001":              rule + `"a\n900000000000001"`,
		"a\n18446744073709551616":         rule + `"a\n18446744073709551616"`,
		"a\n" + strings.Repeat("7", 5000): rule + `"a\n` + strings.Repeat("7", 62) + `"... (5002 bytes)`,
	} {
		got, err := messages.ParseCursor(text)
		wantInvalid(t, err, want)
		if got != (messages.Cursor{}) {
			t.Errorf("%q: %+v and an error", text, got)
		}
	}
}

// Whatever is accepted is written as it came, so that no two cursors are one place.
func TestCursorIsOneToOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-c\n0-9+\x00é]{0,6}(\n[0-9+ ]{0,16})?`).Draw(t, "text")
		c, err := messages.ParseCursor(text)
		if err == nil && c.String() != text {
			t.Fatalf("%q is %+v, which is written as %q", text, c, c.String())
		}
		if err == nil {
			return
		}
		checkInvalid(t, err)
	})
}
