package mutants_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// language is a client that is not written in Go. Its mutants are made in a copy of its folder, and found by the
// conformance cases with the driver in the copy.
type language struct {
	folder string
	// linked is what the copy shares with the original: modules that were installed. left is what was built.
	linked string
	left   []string
	// check reports mistakes that show without running; build makes what driver runs. COPY is the folder of the copy,
	// in which check and build run.
	check, build, driver string
}

var languages = map[string]language{
	"typescript": {
		folder: "clients/typescript",
		linked: "node_modules",
		left:   []string{"dist", "docs"},
		check:  "node_modules/.bin/tsc -p tsconfig.json --noEmit",
		build:  "npm run --silent build",
		driver: "node COPY/conformance/driver.js",
	},
}

// copy copies the client into a folder for the test, with these texts instead of those of the files.
func (l language) copy(t *testing.T, texts map[string]string) string {
	t.Helper()
	from, dir := absolute(t, filepath.Join(root, l.folder)), t.TempDir()
	if _, err := os.Stat(filepath.Join(from, l.linked)); err != nil {
		t.Fatalf("%v; install it: make servers", err)
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		source, target := filepath.Join(from, e.Name()), filepath.Join(dir, e.Name())
		switch {
		case e.Name() == l.linked:
			err = os.Symlink(source, target)
		case slices.Contains(l.left, e.Name()):
		case e.IsDir():
			err = os.CopyFS(target, os.DirFS(source))
		default:
			var text []byte
			if text, err = os.ReadFile(source); err == nil {
				write(t, target, text)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for file, text := range texts {
		in, ok := strings.CutPrefix(file, l.folder+"/")
		if !ok {
			t.Fatalf("%s is not in %s", file, l.folder)
		}
		write(t, filepath.Join(dir, in), []byte(text))
	}
	return dir
}

// run runs one of the commands in a copy.
func (l language) run(t *testing.T, command, dir string) ([]byte, error) {
	t.Helper()
	words := l.words(command, dir)
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	cmd.Dir = dir
	return cmd.CombinedOutput()
}

// words are those of a command.
func (language) words(command, dir string) []string {
	return strings.Fields(strings.ReplaceAll(command, "COPY", dir))
}

// testClient runs conformance cases with the driver in a copy of the client that has these texts.
func (s suite) testClient(t *testing.T, texts map[string]string) ([]byte, error) {
	t.Helper()
	l := languages[s.client]
	dir := l.copy(t, texts)
	if l.build != "" {
		if output, err := l.run(t, l.build, dir); err != nil {
			t.Fatalf("build: %v\n%s", err, output)
		}
	}
	cases := suite{
		folder: "integration/conformance", run: "^TestConformance$/^flag$/" + s.run,
		args: []string{"-conformance.driver", strings.Join(l.words(l.driver, dir), " ")},
	}
	return cases.testGo(t, "")
}
