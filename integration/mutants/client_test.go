package mutants_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

// language is a client that is not written in Go. Its mutants are made in a copy of its folder, and found by the
// conformance cases with the driver in the copy.
type language struct {
	folder string
	// linked is what the copy shares with the original: modules that were installed. left is what was built.
	linked string
	left   []string
	// build is a command of the shell that makes what driver runs, in the folder of the copy, and fails if it cannot.
	build string
	// driver is the command of the driver; COPY is the folder.
	driver string
	// tests is a command of the shell that runs the tests of a file, in the folder of the copy: the file is $1, and $2
	// chooses among its tests. Empty: there are none but the cases.
	tests string
}

var languages = map[string]language{
	"typescript": {
		folder: "clients/typescript",
		linked: "node_modules",
		left:   []string{"dist", "docs"},
		// esbuild does not check types, and takes a fraction of a second.
		build: "esbuild='node_modules/.bin/esbuild --log-level=warning --format=esm'; " +
			"$esbuild src/*.ts src/fence/*.ts --outdir=dist/esm && " +
			"$esbuild conformance/*.ts --outdir=conformance --allow-overwrite",
		driver: "node COPY/conformance/driver.js",
		tests: "node_modules/.bin/esbuild --log-level=warning --bundle --platform=node --format=esm --packages=external " +
			`"$1" --outfile=tests.mjs && node --test --test-name-pattern="$2" tests.mjs`,
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

// compile makes a copy with these texts and builds it.
func (l language) compile(t *testing.T, texts map[string]string) (dir string, output []byte, err error) {
	t.Helper()
	dir = l.copy(t, texts)
	build := exec.CommandContext(t.Context(), "sh", "-c", l.build)
	build.Dir = dir
	output, err = build.CombinedOutput()
	return dir, output, err
}

// testClient runs conformance cases with the driver in a copy of the client that has these texts, or tests of the copy.
func (s suite) testClient(t *testing.T, texts map[string]string) ([]byte, error) {
	t.Helper()
	l := languages[s.client]
	dir, output, err := l.compile(t, texts)
	if err != nil {
		return output, err
	}
	if s.module != "" {
		t.Setenv(fencetest.ForeignFolders, s.folders(t, dir))
		return s.testGo(t, "")
	}
	if s.folder != "" {
		tests := exec.CommandContext(t.Context(), "sh", "-c", l.tests, "sh", s.folder, s.run)
		tests.Dir = dir
		return tests.CombinedOutput()
	}
	cases := suite{
		folder: "integration/conformance", run: "^TestConformance$/^flag$/" + s.run,
		args: []string{"-conformance.driver", strings.ReplaceAll(l.driver, "COPY", dir)},
	}
	return cases.testGo(t, "")
}

// folders returns a folder with the copy of the client, and with the others as they are.
func (s suite) folders(t *testing.T, dir string) string {
	t.Helper()
	clients := t.TempDir()
	for name, l := range languages {
		folder := absolute(t, filepath.Join(root, l.folder))
		if name == s.client {
			folder = dir
		}
		if err := os.Symlink(folder, filepath.Join(clients, name)); err != nil {
			t.Fatal(err)
		}
	}
	return clients
}
