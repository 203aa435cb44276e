package layers

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	root   = "../.."
	module = "github.com/holdfast-io/holdfast/"
)

// rule is a line of layers.txt: what the folders may import, and what their tests may import besides. In a rule that
// begins with "only", folders are packages of others, and only the imports and tests may import them.
type rule struct {
	folders, imports, tests []string
}

// pkg is a folder with its imports, and those that only its tests have. An import that is ours has no module.
type pkg struct {
	imports, tests []string
}

func TestLayers(t *testing.T) {
	rules, only := read(t)
	checkOrder(t, rules)
	used := make(map[string]bool)
	for folder, p := range packages(t) {
		r := ruleOf(rules, folder)
		if r == nil {
			t.Errorf("%s: layers.txt has no line for this folder; add one below the folders that it imports", folder)
			continue
		}
		check := func(imported, what string, allowed []string) {
			if other := ruleOf(only, imported); other != nil {
				allowed = slices.Clone(other.imports)
				if what == "the tests of " {
					allowed = append(allowed, other.tests...)
				}
				if !slices.ContainsFunc(allowed, func(a string) bool { return covers(a, folder) }) {
					t.Errorf("%s%s import %s; layers.txt lets only %v import that", what, folder, imported, allowed)
				}
				return
			}
			if !isOurs(imported) || imported == folder {
				return
			}
			found := false
			for _, a := range allowed {
				if covers(a, imported) {
					used[r.folders[0]+" "+a], found = true, true
				}
			}
			if !found {
				t.Errorf("%s%s import %s; layers.txt lets them import only %v", what, folder, imported, allowed)
			}
		}
		for _, imported := range p.imports {
			check(imported, "", r.imports)
		}
		for _, imported := range p.tests {
			check(imported, "the tests of ", append(slices.Clone(r.imports), r.tests...))
		}
	}
	for _, r := range rules {
		for _, a := range append(slices.Clone(r.imports), r.tests...) {
			if !used[r.folders[0]+" "+a] {
				t.Errorf("layers.txt lets %v import %s, but none of them does: remove it", r.folders, a)
			}
		}
	}
}

// TestRulesAreRead checks how a line is read and which one applies.
func TestRulesAreRead(t *testing.T) {
	rules := []rule{parse("a/... b: c d/... | e"), parse("a/x:")}
	for folder, want := range map[string]string{"a": "a/...", "a/y/z": "a/...", "a/x": "a/x", "b": "a/...", "b/y": ""} {
		got := ""
		if r := ruleOf(rules, folder); r != nil {
			got = r.folders[0]
		}
		if got != want {
			t.Errorf("the rule of %s is %q, want %q", folder, got, want)
		}
	}
	if r := rules[0]; !slices.Equal(r.imports, []string{"c", "d/..."}) || !slices.Equal(r.tests, []string{"e"}) {
		t.Errorf("read %+v", r)
	}
	if !covers("d/...", "d") || !covers("d/...", "d/e") || covers("d/...", "de") || covers("d", "d/e") {
		t.Error("a folder is covered that should not be, or the other way round")
	}
}

func read(t *testing.T) (rules, only []rule) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "layers.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if of, ok := strings.CutPrefix(line, "only "); ok {
			only = append(only, parse(of))
		} else if line != "" && !strings.HasPrefix(line, "#") {
			rules = append(rules, parse(line))
		}
	}
	return rules, only
}

func parse(line string) rule {
	folders, imports, _ := strings.Cut(line, ":")
	imports, tests, _ := strings.Cut(imports, "|")
	return rule{strings.Fields(folders), strings.Fields(imports), strings.Fields(tests)}
}

// checkOrder checks that each line lets in only what stands above it, so that no folders form a circle.
func checkOrder(t *testing.T, rules []rule) {
	t.Helper()
	var above []string
	for _, r := range rules {
		for _, i := range r.imports {
			if !slices.ContainsFunc(above, func(a string) bool { return covers(i, a) || covers(a, i) }) {
				t.Errorf("layers.txt: %s may import %s, which does not stand above it", strings.Join(r.folders, " "), i)
			}
		}
		above = append(above, r.folders...)
	}
}

// ruleOf returns the rule of a folder: the one that names it, else that of the nearest folder above; nil if there is
// none.
func ruleOf(rules []rule, folder string) *rule {
	names := []string{folder}
	for dir := folder; dir != "."; dir = path.Dir(dir) {
		names = append(names, dir+"/...")
	}
	for _, name := range names {
		for i := range rules {
			if slices.Contains(rules[i].folders, name) {
				return &rules[i]
			}
		}
	}
	return nil
}

func covers(pattern, folder string) bool {
	parent, below := strings.CutSuffix(pattern, "/...")
	return folder == parent || below && strings.HasPrefix(folder, parent+"/")
}

// isOurs reports whether an import is a folder of the repository: the first part of the others is a host, or it has no
// dot anywhere, as those of Go's library, whose names none of our folders at the top has.
func isOurs(imported string) bool {
	top, _, _ := strings.Cut(imported, "/")
	info, err := os.Stat(filepath.Join(root, top))
	return err == nil && info.IsDir()
}

// packages returns the folders with Go files, for whatever system these are. What is tested from outside, and the
// tools, may import everything.
func packages(t *testing.T) map[string]*pkg {
	t.Helper()
	all := make(map[string]*pkg)
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		skipped := []string{".git", ".venv", "integration", "node_modules", "testdata", "tools"}
		if err == nil && d.IsDir() && slices.Contains(skipped, d.Name()) {
			return fs.SkipDir
		}
		if err != nil || path.Ext(name) != ".go" {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(name))
		if folder = filepath.ToSlash(folder); all[folder] == nil {
			all[folder] = new(pkg)
		}
		for _, i := range f.Imports {
			list := &all[folder].imports
			if strings.HasSuffix(name, "_test.go") {
				list = &all[folder].tests
			}
			imported, _ := strconv.Unquote(i.Path.Value)
			if imported = strings.TrimPrefix(imported, module); !slices.Contains(*list, imported) {
				*list = append(*list, imported)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
