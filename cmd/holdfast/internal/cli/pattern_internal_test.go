package cli

import (
	"strings"
	"testing"
)

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
		`a\*.b\>.c\`:             `a=2A.b=3E.c=5C`,
		`a.\>`:                   "a.=3E",
		`a\\>`:                   "a=5C=3E",
		`a\>.*`:                  "a=3E.*",
		"**":                     "",
		">.>":                    "",
		"*.\xff":                 "",
		"a\n":                    "",
		strings.Repeat("a", 513): "",
	} {
		got, err := ParsePattern(text)
		if got.Key != want || (err == nil) != (want != "") {
			t.Errorf("parsePattern(%q) = %q, %v; want %q", text, got.Key, err, want)
		}
	}
}
