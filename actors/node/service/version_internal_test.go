package service

import "testing"

func TestSemanticVersion(t *testing.T) {
	for version, want := range map[string]string{
		"1.2.3":             "1.2.3",
		"v1.2.3":            "1.2.3",
		"v1.2.3-4-gabcdef0": "1.2.3-4-gabcdef0",
		"dev":               "0.0.0-dev",
		"abc def/1":         "0.0.0-abc-def-1",
		"1.2":               "0.0.0-1-2",
	} {
		if got := semanticVersion(version); got != want || !semantic.MatchString(got) {
			t.Errorf("%q became %q, want %q", version, got, want)
		}
	}
}
