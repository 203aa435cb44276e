package mutants_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the repository's, seen from this folder.
const root = "../.."

// mutant is a bug, and who finds it.
type mutant struct {
	name string
	// harm is what it does to users.
	harm  string
	edits []edit
	// found is the test that fails, and says what is wrong, by this regular expression.
	found suite
	says  string
}

// edit replaces the line of a file that is marked with the name of the mutant, with wrong lines. Where a mutant has
// several edits of one file, they are in the order of the marks.
type edit struct{ file, wrong string }

// suite is tests of one package, or conformance cases of a client that is not written in Go, or tests of that client, or
// the suite of the guards with those of that client.
type suite struct {
	module      string // its folder; empty for the main module, and for a client but for its guards
	folder, run string // the folder within the module, or the file of the client's tests
	args        []string
	client      string // its language, for which run chooses among the cases; empty for tests of a package
}

// texts returns the wrong files.
func (m mutant) texts(t *testing.T) map[string]string {
	t.Helper()
	wrong := make(map[string][]string)
	for _, e := range m.edits {
		wrong[e.file] = append(wrong[e.file], e.wrong)
	}
	texts := make(map[string]string)
	for file, wrong := range wrong {
		lines := strings.Split(source(t, file), "\n")
		places := marked(lines, m.name)
		if len(places) != len(wrong) {
			t.Fatalf("%s has %d lines with the mark %q, and the mutant changes %d", file, len(places), m.name, len(wrong))
		}
		for i, place := range places {
			line := lines[place]
			lines[place] = line[:len(line)-len(strings.TrimLeft(line, " \t"))] + wrong[i]
		}
		texts[file] = strings.Join(lines, "\n")
	}
	return texts
}

// groups returns all mutants in groups that are compiled at once: those of a module, or a client in another language,
// that change different files.
func groups(all []mutant) (groups [][]mutant) {
	for _, m := range all {
		place := slices.IndexFunc(groups, func(group []mutant) bool {
			return !slices.ContainsFunc(group, m.excludes)
		})
		if place < 0 {
			groups = append(groups, []mutant{m})
		} else {
			groups[place] = append(groups[place], m)
		}
	}
	return groups
}

// excludes reports whether two mutants cannot be compiled at once.
func (m mutant) excludes(o mutant) bool {
	return m.found.client != o.found.client || m.found.module != o.found.module ||
		slices.ContainsFunc(m.edits, func(e edit) bool { return o.changes(e.file) })
}

// changes reports whether an edit is of this file.
func (m mutant) changes(file string) bool {
	return slices.ContainsFunc(m.edits, func(e edit) bool { return e.file == file })
}

// compile reports mutants of a group that cannot be built, without running them.
func compile(t *testing.T, group []mutant) ([]byte, error) {
	t.Helper()
	texts, paths := make(map[string]string), []string{}
	for _, m := range group {
		maps.Copy(texts, m.texts(t))
		paths = append(paths, m.packages()...)
	}
	if l, ok := languages[group[0].found.client]; ok {
		_, output, err := l.compile(t, texts)
		return output, err
	}
	return goTool(t, group[0].found.module, overlay(t, texts), append([]string{"build", "-o", os.DevNull}, paths...)...)
}

// overlay writes the files with these texts and returns the file that has Go build with them.
func overlay(t *testing.T, texts map[string]string) string {
	t.Helper()
	var overlay struct{ Replace map[string]string }
	overlay.Replace = make(map[string]string)
	dir := t.TempDir()
	for file, text := range texts {
		wrong := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		write(t, wrong, []byte(text))
		overlay.Replace[absolute(t, filepath.Join(root, file))] = wrong
	}
	described, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	write(t, file, described)
	return file
}

// packages returns the import paths of the packages that the edits are in.
func (m mutant) packages() []string {
	var paths []string
	for _, e := range m.edits {
		paths = append(paths, "github.com/holdfast-io/holdfast/"+filepath.ToSlash(filepath.Dir(e.file)))
	}
	return paths
}

func source(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
