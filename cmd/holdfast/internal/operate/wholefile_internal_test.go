package operate

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
)

// write lets the file be written with this text, or fail with err.
func write(w wholeFile, text string, err error) error {
	return w.write(func(out io.Writer) error {
		_, wrote := io.WriteString(out, text)
		return errors.Join(wrote, err)
	})
}

func wantFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if was, ok := want[e.Name()]; err != nil || !ok || string(text) != was {
			t.Errorf("%s has %q, want %q, error %v", e.Name(), text, was, err)
		}
	}
	if len(entries) != len(want) {
		t.Errorf("there are %d files, want %d", len(entries), len(want))
	}
}

// A file is whole or absent, and another one is replaced only if that is asked for.
func TestWholeFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := wholeFile{path: filepath.Join(dir, "file")}
	failure := errors.New("failure")
	if err := write(w, "a part", failure); !errors.Is(err, failure) {
		t.Errorf("error %v", err)
	}
	wantFiles(t, dir, nil)
	if err := write(w, "first", nil); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(w.path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, error %v", info, err)
	}
	if err := write(w, "second", nil); exit.CodeOf(err) != exit.Usage {
		t.Errorf("error %v", err)
	}
	wantFiles(t, dir, map[string]string{"file": "first"})
	w.replace = true
	if err := write(w, "a part", failure); !errors.Is(err, failure) {
		t.Errorf("error %v", err)
	}
	wantFiles(t, dir, map[string]string{"file": "first"})
	if err := write(w, "second", nil); err != nil {
		t.Error(err)
	}
	wantFiles(t, dir, map[string]string{"file": "second"})
}

// A file that appears while another is written under its name stays.
func TestWholeFileThatAppears(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := wholeFile{path: filepath.Join(dir, "file")}
	err := w.write(func(io.Writer) error { return os.WriteFile(w.path, []byte("another"), 0o600) })
	if exit.CodeOf(err) != exit.Usage {
		t.Errorf("error %v", err)
	}
	wantFiles(t, dir, map[string]string{"file": "another"})
}

// Folders, links and names in missing folders are refused.
func TestWholeFileOfAnotherKind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "nothing"), link); err != nil {
		t.Skip("links need a permission here:", err)
	}
	for _, path := range []string{dir, filepath.Join(dir, "missing", "file"), link} {
		if err := write(wholeFile{path: path, replace: true}, "x", nil); exit.CodeOf(err) != exit.Usage {
			t.Errorf("%s: error %v", path, err)
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link is %v, error %v", info, err)
	}
}
