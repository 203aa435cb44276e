package commands

import (
	"regexp"
	"slices"
	"testing"
)

var (
	testsInGo   = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Z]\w*)\(`)
	testsInPage = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z]\\w*)`")
	numbered    = regexp.MustCompile(`\bdecisions?[/ ]\[?0\d{3}\b`)
)

// Each test that a page names as the one that holds an invariant, or shows a fault, exists.
func TestTestsThatThePagesName(t *testing.T) {
	var all []string
	sources(t, []string{".go"}, func(_, text string) {
		for _, m := range testsInGo.FindAllStringSubmatch(text, -1) {
			all = append(all, m[1])
		}
	})
	slices.Sort(all)
	checked := 0
	sources(t, []string{".md"}, func(path, text string) {
		for _, m := range testsInPage.FindAllStringSubmatch(text, -1) {
			checked++
			if _, found := slices.BinarySearch(all, m[1]); !found {
				t.Errorf("%s names %s, and there is no such test", path, m[1])
			}
		}
	})
	if checked < 300 {
		t.Errorf("%d names were checked: the test is vacuous", checked)
	}
}

// A decision is named by its subject: those with numbers are gone.
func TestDecisionsAreNamedBySubject(t *testing.T) {
	sources(t, []string{".go", ".md", ".txt", ".yml", ".ts", ".py"}, func(path, text string) {
		if found := numbered.FindString(text); found != "" {
			t.Errorf("%s: %q names a record that is gone; docs/decisions/README.md says where it is", path, found)
		}
	})
}
