package mutants_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mark is a comment with the names of the mutants that change its line, or, if it has a line of its own, the next one.
// The comments of Go, TypeScript, Java, Python and Lua have it.
var mark = regexp.MustCompile(`^(.*)(?://|#|--) mutant: (\w+(?:, \w+)*)$`)

// marked returns the indices of the lines that the mutant of this name changes.
func marked(lines []string, name string) (places []int) {
	for i, line := range lines {
		found := mark.FindStringSubmatch(line)
		if found == nil || !slices.Contains(strings.Split(found[2], ", "), name) {
			continue
		}
		if strings.TrimSpace(found[1]) == "" {
			i++
		}
		places = append(places, i)
	}
	return places
}

// A mark that belongs to no mutant says that a mistake is found which nobody looks for.
func TestMarks(t *testing.T) {
	var files []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", ".venv", "node_modules", "dist", "target", "mutants"}, entry.Name()):
			return filepath.SkipDir
		case slices.Contains([]string{".go", ".py", ".ts", ".java"}, filepath.Ext(path)):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		file, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		file = filepath.ToSlash(file)
		for _, line := range strings.Split(source(t, file), "\n") {
			found := mark.FindStringSubmatch(line)
			if found == nil {
				continue
			}
			for _, name := range strings.Split(found[2], ", ") {
				if !slices.ContainsFunc(mutants, func(m mutant) bool { return m.name == name && m.changes(file) }) {
					t.Errorf("%s has the mark %q, and no mutant of this name changes the file", file, name)
				}
			}
		}
	}
}
