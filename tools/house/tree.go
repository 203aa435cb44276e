package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// tree is the tracked files of a repository, by their path.
type tree struct {
	dir   string
	files map[string][]byte
}

func read(dir string) (*tree, error) {
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", dir, err)
	}
	t := &tree{dir: dir, files: make(map[string][]byte)}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(dir, name)) //nolint:gosec // the tree is the user's own
		if os.IsNotExist(err) {
			continue // deleted, and not committed
		}
		if err != nil {
			return nil, err
		}
		t.files[name] = content
	}
	return t, nil
}

// kind says what a file is counted as.
type kind uint8

const (
	other     kind = iota
	product        // Go that a node, a command or an application runs
	support        // Go that only tests run, beside the tests
	test           // Go tests
	generated      // Go that make generate writes
	tooling        // Go that builds and packages
	language       // clients in other languages
)

// kindOf returns the kind of a file. Folders of support have names that end in test, as in Go's standard library.
func kindOf(name string) kind {
	dir, base := path.Dir(name), path.Base(name)
	switch {
	case isLanguage.MatchString(name):
		return language
	case path.Ext(name) != ".go":
		return other
	case strings.HasSuffix(base, ".pb.go"):
		return generated
	case strings.HasSuffix(base, "_test.go"):
		return test
	case strings.HasPrefix(name, "tools/"), strings.HasPrefix(name, "packaging/"):
		return tooling
	case strings.HasPrefix(name, "integration/"), isSupport.MatchString(dir + "/"):
		return support
	}
	return product
}

// isLanguage matches what applications run; drivers of the conformance cases are no part of it.
var isLanguage = regexp.MustCompile(
	`^clients/(typescript/src/.*\.ts|python/src/.*\.py|java/holdfast-\w+/src/main/.*\.java)$`)

var isSupport = regexp.MustCompile(`(test|testserver|conformance)/`)

// lines counts as wc does.
func lines(content []byte) int { return bytes.Count(content, []byte("\n")) }

// maxWidth is the number of columns above which a line is wide. A tab has four.
const maxWidth = 120

func (t *tree) sizes() []row {
	var n [language + 1]int
	var wide, cmd, imports int
	tops := make(map[string]int)
	for name, content := range t.files {
		k := kindOf(name)
		n[k] += lines(content)
		if k == product {
			top, _, _ := strings.Cut(name, "/")
			tops[top] += lines(content)
			if top == "cmd" {
				cmd += lines(content)
			}
		}
		if k != other && k != generated {
			for line := range bytes.Lines(content) {
				line = bytes.TrimRight(line, "\n")
				if utf8.RuneCount(line)+3*bytes.Count(line, []byte("\t")) > maxWidth {
					wide++
				}
			}
		}
		if name == ".golangci.yml" {
			imports = lines(content)
		}
	}
	return []row{
		{"Go product, lines", count(n[product]), byCount(tops)},
		{"Go test support / tests / generated / tools", join(n[support], n[test], n[generated], n[tooling]), nil},
		{"TypeScript and Python product", count(n[language]), nil},
		{"cmd without tests", count(cmd), nil},
		{".golangci.yml", count(imports), nil},
		{fmt.Sprintf("lines above %d columns", maxWidth), count(wide), nil},
	}
}

// mentions counts the files that name a field.
func (t *tree) mentions(expression string) (row, error) {
	names, err := regexp.Compile(expression)
	if err != nil {
		return row{}, err
	}
	files := make(map[string]int)
	for name, content := range t.files {
		if found := len(names.FindAll(content, -1)); found > 0 {
			files[name] = found
		}
	}
	return row{"files with the field " + expression, count(len(files)), byCount(files)}, nil
}

func count(n int) string { return fmt.Sprint(n) }

func join(n ...int) string {
	texts := make([]string, len(n))
	for i, n := range n {
		texts[i] = count(n)
	}
	return strings.Join(texts, " / ")
}

// byCount lists what was counted, the most first.
func byCount(m map[string]int) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.SortFunc(names, func(x, y string) int { return cmp.Or(m[y]-m[x], strings.Compare(x, y)) })
	for i, name := range names {
		names[i] = fmt.Sprintf("%6d %s", m[name], name)
	}
	return names
}
