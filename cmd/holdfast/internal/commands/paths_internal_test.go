package commands

import (
	"path/filepath"
	"strings"
	"testing"
)

// mostWords bounds what a reader has to read until the goal of a path.
const mostWords = 5000

// Each reading path of the index has few enough words.
func TestReadingPaths(t *testing.T) {
	_, table, _ := strings.Cut(pageOf(t, "README.md"), "\n## Reading paths\n")
	table, _, _ = strings.Cut(table, "\n## ")
	paths := 0
	for line := range strings.Lines(table) {
		pages := words(line, `\]\(([^)]+\.md)\)`)
		if len(pages) == 0 {
			continue
		}
		paths++
		total := 0
		for _, page := range pages {
			total += len(strings.Fields(pageOf(t, filepath.FromSlash(page))))
		}
		t.Logf("%d words: %s", total, strings.Join(pages, ", "))
		if total > mostWords {
			t.Errorf("%d words are more than %d: %s", total, mostWords, line)
		}
	}
	if paths != 4 {
		t.Errorf("%d paths, want 4", paths)
	}
}
