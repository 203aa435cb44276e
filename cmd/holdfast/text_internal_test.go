package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/holdfast-io/holdfast/messages"
)

// hostile are texts of others that would play with a terminal if they were printed as they are.
var hostile = []string{
	"\x1b[31mred", "a\rb", "a\nb", "\u009b2J", "\u202eevil", "\x00", "\xff\xfe", "\u2028", "a\x7fb", "\U000e0001", "tab\t",
}

func TestNothingHostileIsShown(t *testing.T) {
	for _, text := range hostile {
		encoded, err := json.Marshal(strings.ToValidUTF8(text, "?"))
		if err != nil {
			t.Fatal(err)
		}
		raw := `"` + strings.ToValidUTF8(text, "?") + `"` // as a sloppier encoder would write it
		for how, out := range map[string]string{
			"shown": shown(text), "quoted": quoted(text), "oneLine": oneLine(text),
			"escaped": escaped(encoded), "escaped raw": escaped([]byte(raw)),
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
	if err := json.Unmarshal([]byte(escaped(encoded)), &back); err != nil || back != text {
		t.Errorf("escaped JSON reads back as %q, %v", back, err)
	}
	if !strings.Contains(escaped(encoded), "é 漢 😀") {
		t.Errorf("escaped hides what is harmless: %s", escaped(encoded))
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
		if got := shown(name); got != want {
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
		if got := readable(d); got != want {
			t.Errorf("readable(%v) = %s, want %s", d, got, want)
		}
	}
}

func TestWithoutSecrets(t *testing.T) {
	for urls, want := range map[string]string{
		"nats://127.0.0.1:4222":                     "nats://127.0.0.1:4222",
		"nats://u:p@a:1,tls://token@b:2":            "nats://a:1,tls://b:2",
		"u:p@host":                                  "host",
		"nats://u:p@ss@host:4222":                   "nats://host:4222",
		"nats://u:%zz@host:4222, nats://u:p@b:4222": "host:4222,nats://b:4222",
	} {
		if got := withoutSecrets(urls); got != want {
			t.Errorf("withoutSecrets(%q) = %q, want %q", urls, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	flags := []string{"listen", "data", "min-ttl", "max-ttl", "nats", "nats-config"}
	for name, want := range map[string]string{
		"lisen": "listen", "min_ttl": "min-ttl", "nast": "nats", "list": "listen", "nats-c": "nats-config", "": "", "x": "", "owner": "",
	} {
		if got, _ := nearest(name, flags); got != want {
			t.Errorf("nearest(%q) = %q, want %q", name, got, want)
		}
	}
}

// A status that the contract gains must be given an exit code and a sentence here.
func TestEveryStatusHasItsExitCode(t *testing.T) {
	for number, name := range messages.Status_name {
		s := messages.Status(number)
		if s == messages.Status_STATUS_UNSPECIFIED {
			continue
		}
		if exitOf(messages.OpAcquire, s) == exitUnexpected {
			t.Errorf("%s has no exit code", name)
		}
		a := answer{Reply: &messages.Reply{Status: s}, op: messages.OpAcquire, resource: "r"}
		if !didNothing(s) && strings.Contains(a.sentence(), "does not know") {
			t.Errorf("%s has no sentence", name)
		}
	}
}
