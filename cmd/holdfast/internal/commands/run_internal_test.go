package commands

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each page with commands or programs is in the table of docs/testing.md: with the tests that run them, or as not run.
func TestPagesSayWhatRunsTheirCommands(t *testing.T) {
	rows := table(t, pageOf(t, "testing.md"), "| page | what runs its commands and programs |")
	var documented, existing []string
	for page, runs := range rows {
		documented = append(documented, page)
		if !strings.Contains(runs, "`Test") && !strings.Contains(runs, "suites") {
			t.Errorf("%s: %q names no test", page, runs)
		}
	}
	block := regexp.MustCompile(`(?m)^(?: {4}\S|` + "```" + `)`)
	records := []string{"docs/decisions/", "docs/results/", "docs/reports/", "docs/performance/", ".github/"}
	sources(t, []string{".md"}, func(path, text string) {
		isRecord := slices.ContainsFunc(records, func(folder string) bool { return strings.HasPrefix(path, folder) })
		if block.MatchString(text) && !isRecord && !strings.HasSuffix(path, "DESIGN.md") {
			existing = append(existing, path)
		}
	})
	wantSame(t, "pages with commands", documented, existing)
}
