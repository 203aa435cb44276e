package main

import "testing"

func TestVersions(t *testing.T) {
	for text, want := range map[string]version{
		"v1.2.3":                       {semantic: "1.2.3", alpine: "1.2.3"},
		"v1.2.3-rc.1":                  {semantic: "1.2.3-rc.1", alpine: "1.2.3_rc1"},
		"v1.2.3-4-gabc1234":            {semantic: "1.2.3+4.gabc1234", alpine: "1.2.3_p4"},
		"v1.2.3-rc.1-4-gabc1234-dirty": {semantic: "1.2.3-rc.1+4.gabc1234.dirty", alpine: "1.2.3_rc1_p4"},
		"0830ec1-dirty":                {semantic: "0.0.0+g0830ec1.dirty", alpine: "0.0.0"},
	} {
		want.described = text
		if got, err := parseVersion(text); err != nil || got != want {
			t.Errorf("parseVersion(%q) = %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "dev", "1.2.3", "v1.2", "v1.2.3-x", "v1.2.3 ", "v1.2.3-4-g"} {
		if got, err := parseVersion(text); err == nil {
			t.Errorf("parseVersion(%q) = %+v, want an error", text, got)
		}
	}
}
