package display

import "testing"

func TestShortened(t *testing.T) {
	for _, test := range []struct {
		text string
		most int
		want string
	}{
		{"orders.42", 9, "orders.42"},
		{"orders.42", 8, "orde….42"},
		{"orders.42", 2, "o…"},
		{"orders.42", 1, "…"},
		{"漢字漢字", 8, "漢字漢字"},
		{"漢字漢字", 7, "漢…字"},
		{"漢字漢字", 5, "漢…字"},
		{"漢字漢字", 4, "漢…"},
		{"", 1, ""},
	} {
		if got := Shorten(test.text, test.most); got != test.want || Width(got) > test.most {
			t.Errorf("shortened(%q, %d) = %q, want %q", test.text, test.most, got, test.want)
		}
	}
}
