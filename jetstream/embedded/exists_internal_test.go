package embedded

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHoldsAny(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), `a[b]*?\c`)
	if err := os.MkdirAll(filepath.Join(dir, "one", "streams", "s"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"*": true, "*/streams/*": true, "*/streams/s/*": false, "*/other/*": false,
		"file/*": false} {
		if got, err := holdsAny(dir, strings.Split(path, "/")...); got != want || err != nil {
			t.Errorf("%s: %v, %v", path, got, err)
		}
	}
	if got, err := holdsAny(filepath.Join(dir, "none"), anyEntry); got || err != nil {
		t.Errorf("what is not there holds something: %v, %v", got, err)
	}
	if _, err := holdsAny(filepath.Join(dir, strings.Repeat("x", 300)), anyEntry); err == nil {
		t.Error("what cannot be read is taken for empty")
	}
}
