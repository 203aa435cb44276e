package main

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/holdfast-io/holdfast/messages"
)

func TestTableFitsTheTerminal(t *testing.T) {
	leases := []*messages.Lease{
		{Resource: strings.Repeat("漢", 60), Owner: "me", Token: 7, RemainingMs: 1500},
		{Resource: strings.Repeat("a", 90) + "42", Owner: strings.Repeat("o", 90) + "é", Token: 900_000_000_000_000},
		{Resource: "cafe\u0301", Owner: hostile[0], RemainingMs: 86_400_000},
	}
	for columns := 50; columns < 300; columns++ {
		text := tableOf(leases, []int{0, -1, 1000}).text(columns)
		var widths []int
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0 {
				t.Fatalf("unprintable: %q", line)
			}
			widths = append(widths, cellsOf(line))
		}
		if len(widths) != 4 || slices.Max(widths) > columns || slices.Min(widths) != slices.Max(widths) {
			t.Fatalf("on %d columns the lines are %d wide:\n%s", columns, widths, text)
		}
	}
	if text := tableOf(leases, []int{-1, -1, -1}).text(0); strings.Contains(text, ellipsis) || strings.Contains(text, "WAITING") {
		t.Errorf("without a terminal:\n%s", text)
	}
}

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
		if got := shortened(test.text, test.most); got != test.want || cellsOf(got) > test.most {
			t.Errorf("shortened(%q, %d) = %q, want %q", test.text, test.most, got, test.want)
		}
	}
}

func TestParsePattern(t *testing.T) {
	for text, want := range map[string]string{
		"orders.42":              "orders.42",
		"orders.*":               "orders.*",
		">":                      ">",
		"*.a:b.>":                "*.a=3Ab.>",
		"a..b":                   "a.=2Eb",
		".":                      "=2E",
		"=2E":                    "=3D2E",
		"cafe\u0301.*":           "caf=C3=A9.*",
		"two words.*":            "two=20words.*",
		"a..*":                   "",
		"a*":                     "",
		"**":                     "",
		">.>":                    "",
		"*.\xff":                 "",
		"a\n":                    "",
		strings.Repeat("a", 513): "",
	} {
		got, err := parsePattern(text)
		if got.key != want || (err == nil) != (want != "") {
			t.Errorf("parsePattern(%q) = %q, %v; want %q", text, got.key, err, want)
		}
	}
}

func TestIntervalTakesItsArgument(t *testing.T) {
	for _, test := range []struct {
		set  string
		args []string
		dash int
		want time.Duration
		left []string
	}{
		{"", []string{"5s"}, -1, 2 * time.Second, []string{"5s"}},
		{"2s", nil, -1, 2 * time.Second, nil},
		{"2s", []string{"orders.*"}, -1, 2 * time.Second, []string{"orders.*"}},
		{"2s", []string{"5s"}, -1, 5 * time.Second, nil},
		{"2s", []string{"5s", "orders.*"}, -1, 5 * time.Second, []string{"orders.*"}},
		{"2s", []string{"orders.*", "5s"}, -1, 5 * time.Second, []string{"orders.*"}},
		{"2s", []string{"5s"}, 0, 2 * time.Second, []string{"5s"}},
		{"3s", []string{"5s"}, -1, 3 * time.Second, []string{"5s"}},
	} {
		i := newInterval()
		if test.set != "" {
			if err := i.Set(test.set); err != nil {
				t.Fatal(err)
			}
		}
		left, err := i.take(test.args, test.dash)
		if err != nil || i.Duration != test.want || !slices.Equal(left, test.left) {
			t.Errorf("%+v: %v, %q, %v", test, i.Duration, left, err)
		}
	}
}

func TestScreenShowsWhatFits(t *testing.T) {
	leases := make([]*messages.Lease, 20)
	for i := range leases {
		leases[i] = &messages.Lease{Resource: strings.Repeat("r", i+1), Owner: "me"}
	}
	s := &screen{title: "holdfast ls, every 2s", text: func(l []*messages.Lease, columns int) string {
		return tableOf(l, make([]int, len(l))).text(columns)
	}}
	for rows := 5; rows < 30; rows++ {
		lines := s.lines(size{columns: 60, rows: rows}, time.Time{}, leases, nil)
		last := lines[len(lines)-1]
		if all := len(lines) == len(leases)+3; len(lines) > rows || all == strings.HasPrefix(last, "... and ") {
			t.Errorf("on %d rows:\n%s", rows, strings.Join(lines, "\n"))
		}
	}
}
