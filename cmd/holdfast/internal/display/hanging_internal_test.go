package display

import "testing"

func TestHanging(t *testing.T) {
	for _, test := range []struct {
		text    string
		columns int
		want    string
	}{
		{"one two three", 0, "ok  one two three\n"},
		{"one two three", 17, "ok  one two three\n"},
		{"one two three", 16, "ok  one two\n    three\n"},
		{"one two three", 7, "ok  one\n    two\n    three\n"},
		{"one two", 2, "ok  one\n    two\n"},
		{"漢字 漢字", 12, "ok  漢字\n    漢字\n"},
		{"a\x1bb\nc", 80, "ok  a?b?c\n"},
		{"", 80, "ok\n"},
	} {
		if got := Hanging("ok  ", test.text, test.columns); got != test.want {
			t.Errorf("Hanging(%q, %d) = %q, want %q", test.text, test.columns, got, test.want)
		}
	}
}
