package server_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The lines of docs/recipes.md are those of the example.
func TestRecipeIsTheExample(t *testing.T) {
	page, err := os.ReadFile("../../../docs/recipes.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile("(?s)\n## A node in a Go program\n.*?\n```go\n(.*?)```\n").FindSubmatch(page)
	if lines == nil {
		t.Fatal("the page has no such lines")
	}
	if indented := "\t" + strings.ReplaceAll(strings.TrimSpace(string(lines[1])), "\n", "\n\t"); !strings.Contains(string(example), indented) {
		t.Errorf("the example does not have\n%s", indented)
	}
}
