package display

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"
)

// hostile are texts of others that would play with a terminal if they were printed as they are.
var hostile = []string{
	"\x1b[31mred", "a\rb", "a\nb", "\u009b2J", "\u202eevil", "\x00", "\xff\xfe", "\u2028", "a\x7fb", "\U000e0001",
	"tab\t",
}

func TestNothingHostileIsShown(t *testing.T) {
	for _, text := range hostile {
		encoded, err := json.Marshal(strings.ToValidUTF8(text, "?"))
		if err != nil {
			t.Fatal(err)
		}
		raw := `"` + strings.ToValidUTF8(text, "?") + `"` // as a sloppier encoder would write it
		for how, out := range map[string]string{
			"shown": Name(text), "quoted": Quote(text), "oneLine": OneLine(text),
			"escaped": JSON(encoded), "escaped raw": JSON([]byte(raw)),
		} {
			if i := strings.IndexFunc(out, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
				t.Errorf("%s(%q) = %q, with an unprintable character at %d", how, text, out, i)
			}
		}
	}
}

func TestEscapedIsTheSameJSON(t *testing.T) {
	const text = "plain é 漢 😀 \u202e \u009b \U000e0001"
	encoded, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	var back string
	if err := json.Unmarshal([]byte(JSON(encoded)), &back); err != nil || back != text {
		t.Errorf("escaped JSON reads back as %q, %v", back, err)
	}
	if !strings.Contains(JSON(encoded), "é 漢 😀") {
		t.Errorf("escaped hides what is harmless: %s", JSON(encoded))
	}
}

func TestShownQuotesOnlyWhatNeedsIt(t *testing.T) {
	for name, want := range map[string]string{
		"orders.42":    "orders.42",
		"document:123": "document:123",
		"café":         "café",
		"":             `""`,
		"a b":          `"a b"`,
		`a"b`:          `"a\"b"`,
		"a, token 7":   `"a, token 7"`,
	} {
		if got := Name(name); got != want {
			t.Errorf("shown(%q) = %s, want %s", name, got, want)
		}
	}
}

func TestReadableNeverShowsMoreThanThereIs(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                     "0ms",
		999*time.Millisecond + 999:            "999ms",
		time.Second:                           "1s",
		12*time.Second + 399*time.Millisecond: "12.3s",
		59*time.Second + 999*time.Millisecond: "59.9s",
		time.Minute:                           "1m",
		10*time.Minute + 9*time.Second:        "10m9s",
		time.Hour + 59*time.Second:            "1h",
		23*time.Hour + 59*time.Minute:         "23h59m",
	} {
		if got := Duration(d); got != want {
			t.Errorf("readable(%v) = %s, want %s", d, got, want)
		}
	}
}
