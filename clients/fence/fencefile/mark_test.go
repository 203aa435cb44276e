package fencefile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// TestOrder is what makes a crash in between safe: when the change begins, the mark is there.
func TestOrder(t *testing.T) {
	dir := t.TempDir()
	d := mustOpen(t, dir)
	for _, token := range []fence.Token{33, 34} {
		wantError(t, d.Do(t.Context(), claim(token), func(*os.Root) error {
			wantContent(t, mustFindMark(t, dir), token.String()+"\norders.42\n")
			return nil
		}), nil)
	}
}

// TestMalformedMark is refused, and left as it is.
func TestMalformedMark(t *testing.T) {
	for name, content := range map[string]string{
		"empty":            "",
		"no token":         "orders.42\n",
		"short token":      "34\norders.42\n",
		"zero token":       "000000000000000\norders.42\n",
		"cut off":          "000000000000034\norders.4",
		"another resource": "000000000000034\norders.43\n",
		"more":             "000000000000034\norders.42\nx",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			d := mustOpen(t, dir)
			mustWrite(t, d, 33, "paid")
			mark := mustFindMark(t, dir)
			if err := os.WriteFile(mark, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, token := range []fence.Token{33, 34, 35} {
				wantError(t, d.Write(t.Context(), claim(token), fileName, nil, 0o600), fence.ErrMalformed)
			}
			wantContent(t, mark, content)
			wantContent(t, filepath.Join(dir, fileName), "paid")
		})
	}
}

// mustFindMark returns the only mark of a directory.
func mustFindMark(t *testing.T, dir string) string {
	t.Helper()
	marks, err := filepath.Glob(filepath.Join(dir, ".fence", strings.Repeat("?", 64)))
	if err != nil || len(marks) != 1 {
		t.Fatalf("marks: %v, %v", marks, err)
	}
	return marks[0]
}
