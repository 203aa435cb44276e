package commands

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

const repository = "../../../.."

var (
	fencedCode = regexp.MustCompile("(?ms)^\\s*(```|~~~).*?^\\s*(```|~~~)\\s*$")
	inlineCode = regexp.MustCompile("`[^`\n]*`")
	headings   = regexp.MustCompile(`(?m)^#{1,6} (.+?)\s*$`)
	htmlNames  = regexp.MustCompile(`(?:id|name)="([^"]+)"`)
	links      = regexp.MustCompile(`\]\(<?([^)<>\s]+)>?(?:\s+"[^"]*")?\)|(?:href|src)="([^"]+)"|(?m:^\[[^\]]+\]:\s+(\S+))`)
	linkInHead = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	pageInCode = regexp.MustCompile(`\bdocs/[a-z0-9/-]+\.md\b(?:#[a-z0-9-]+)?`)
)

// sources calls visit with each file of the repository whose name ends so, by its path from the root.
func sources(t *testing.T, endings []string, visit func(path, text string)) {
	t.Helper()
	made := []string{".git", "node_modules", "dist", "bin", "data", "target", ".venv", ".pytest_cache"}
	err := filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(made, d.Name()):
			return filepath.SkipDir
		case d.IsDir() || !slices.Contains(endings, filepath.Ext(path)):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(repository, path)
		visit(filepath.ToSlash(name), string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// anchors are the names of the headings of a page, as GitHub makes them, and those that its HTML sets.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, m := range headings.FindAllStringSubmatch(fencedCode.ReplaceAllString(text, ""), -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r):
				return unicode.ToLower(r)
			}
			return -1
		}, linkInHead.ReplaceAllString(m[1], "$1"))
		unique := name
		for i := 1; all[unique]; i++ {
			unique = fmt.Sprintf("%s-%d", name, i)
		}
		all[unique] = true
	}
	for _, m := range htmlNames.FindAllStringSubmatch(text, -1) {
		all[m[1]] = true
	}
	return all
}

// deadLink says why a relative link leads nowhere, or nothing. The pages are those of the repository, by their paths.
func deadLink(pages map[string]map[string]bool, from, link string) string {
	path, anchor, _ := strings.Cut(link, "#")
	target := from
	if path != "" {
		target = filepath.ToSlash(filepath.Join(filepath.Dir(from), path))
	}
	if _, err := os.Stat(filepath.Join(repository, target)); err != nil {
		return "there is no " + target
	}
	if names, isPage := pages[target]; isPage && anchor != "" && !names[anchor] {
		return fmt.Sprintf("%s has no heading #%s", target, anchor)
	}
	return ""
}

// Each relative link in a page of the repository leads to a file, and to a heading if it names one.
func TestLinksOfThePages(t *testing.T) {
	pages := map[string]map[string]bool{}
	texts := map[string]string{}
	sources(t, []string{".md"}, func(path, text string) { pages[path], texts[path] = anchors(text), text })
	checked := 0
	for from, text := range texts {
		text = inlineCode.ReplaceAllString(fencedCode.ReplaceAllString(text, ""), "")
		for _, m := range links.FindAllStringSubmatch(text, -1) {
			link := m[1] + m[2] + m[3]
			if strings.Contains(link, ":") || strings.HasPrefix(link, "/") {
				continue
			}
			checked++
			if why := deadLink(pages, from, link); why != "" {
				t.Errorf("%s: (%s): %s", from, link, why)
			}
		}
	}
	if checked < 300 {
		t.Errorf("%d links were checked: the test is vacuous", checked)
	}
}

// Each page that a program, a comment, a setting or an alert names exists.
func TestPagesThatTheCodeNames(t *testing.T) {
	pages := map[string]map[string]bool{}
	sources(t, []string{".md"}, func(path, text string) { pages[path] = anchors(text) })
	checked := 0
	sources(t, []string{".go", ".yaml", ".yml", ".json", ".ts", ".py", ".sh", ".service"}, func(path, text string) {
		for _, name := range pageInCode.FindAllString(text, -1) {
			checked++
			if why := deadLink(pages, "file", name); why != "" {
				t.Errorf("%s: %s: %s", path, name, why)
			}
		}
	})
	if checked < 30 {
		t.Errorf("%d names were checked: the test is vacuous", checked)
	}
}
