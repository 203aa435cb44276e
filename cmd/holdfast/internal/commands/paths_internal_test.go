package commands

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

const (
	// mostWords bounds what a reader has to read until the goal of a path.
	mostWords = 5000
	// mostWordsInAll bounds all pages of the repository together, but for those of adapters.
	mostWordsInAll = 60000
	// mostWordsOfAdapter bounds the page of an adapter: one screen.
	mostWordsOfAdapter = 250
)

// wordsIn counts what has a letter or a digit between two spaces, code and tables included.
func wordsIn(page string) (n int) {
	for word := range strings.FieldsSeq(page) {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			n++
		}
	}
	return n
}

// All pages together have few enough words.
func TestWordsInAll(t *testing.T) {
	total := 0
	var large []string
	sources(t, []string{".md"}, func(path, text string) {
		n := wordsIn(text)
		if strings.HasPrefix(path, "clients/adapters/") {
			if n > mostWordsOfAdapter {
				t.Errorf("%s has %d words, more than %d", path, n, mostWordsOfAdapter)
			}
			return
		}
		total += n
		if n > 1000 {
			large = append(large, fmt.Sprintf("%5d %s", n, path))
		}
	})
	slices.Sort(large)
	t.Logf("%d words in all; the longest pages:\n%s", total, strings.Join(large, "\n"))
	if total > mostWordsInAll {
		t.Errorf("%d words are more than %d", total, mostWordsInAll)
	}
}

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
			total += wordsIn(pageOf(t, filepath.FromSlash(page)))
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
