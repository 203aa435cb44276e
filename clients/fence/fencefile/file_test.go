package fencefile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// TestNamesOfTheGuard and those that lead out are refused before anything is changed, in every spelling.
func TestIllegalNames(t *testing.T) {
	dir := t.TempDir()
	d := mustOpen(t, dir)
	wantError(t, d.Raise(t.Context(), claim(33)), nil)
	mark, err := filepath.Rel(dir, mustFindMark(t, dir))
	wantError(t, err, nil)
	wantError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700), nil)
	wantError(t, os.Symlink(".fence", filepath.Join(dir, "alias")), nil)

	for _, name := range []string{
		"", ".", "..", "../outside", "/outside", "sub/../../outside",
		".fence", ".fence/", mark, ".fence/lock", ".fence/new", "./" + mark, "sub/../" + mark,
		"alias", "alias/lock", strings.Replace(mark, ".fence", "alias", 1),
	} {
		wantError(t, d.Write(t.Context(), claim(99), name, []byte("x"), 0o600), fence.ErrInvalid)
		wantError(t, d.Remove(t.Context(), claim(99), name), fence.ErrInvalid)
	}
	wantError(t, d.Write(t.Context(), claim(33), fileName, nil, 0o600), nil) // 99 has left no mark
}

// TestLinks are not followed out of the directory.
func TestLinks(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	d := mustOpen(t, dir)
	target := filepath.Join(outside, "target")
	wantError(t, os.WriteFile(target, []byte("theirs"), 0o600), nil)
	wantError(t, os.Symlink(target, filepath.Join(dir, fileName)), nil)
	wantError(t, os.Symlink(outside, filepath.Join(dir, "out")), nil)

	mustWrite(t, d, 33, "ours")
	wantContent(t, filepath.Join(dir, fileName), "ours")
	for _, name := range []string{"out/target", "out/../target", "out/", "out/none/target"} {
		wantError(t, d.Write(t.Context(), claim(99), name, []byte("ours"), 0o600), fence.ErrInvalid)
		wantError(t, d.Remove(t.Context(), claim(99), name), fence.ErrInvalid)
	}
	wantContent(t, target, "theirs")
	wantError(t, d.Write(t.Context(), claim(33), fileName, nil, 0o600), nil) // 99 has left no mark
}

// TestLinkInside leads to another directory of the same root, whose parent is not that of the link.
func TestLinkInside(t *testing.T) {
	dir := t.TempDir()
	d := mustOpen(t, dir)
	wantError(t, os.MkdirAll(filepath.Join(dir, "sub", "deep"), 0o700), nil)
	wantError(t, os.Symlink("sub/deep", filepath.Join(dir, "in")), nil)
	for name, at := range map[string]string{"in/file": "sub/deep/file", "in/../file": "sub/file"} {
		wantError(t, d.Write(t.Context(), claim(33), name, []byte(name), 0o600), nil)
		wantContent(t, filepath.Join(dir, at), name)
	}
}

func TestOddNames(t *testing.T) {
	dir := t.TempDir()
	d := mustOpen(t, dir)
	wantError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700), nil)
	for _, name := range []string{"-rf", " ", "a\nb", "\xff", "..a", ".fence.old", ".fencelock", "sub/file",
		strings.Repeat("a", 255)} {
		wantError(t, d.Write(t.Context(), claim(33), name, []byte(name), 0o600), nil)
		wantContent(t, filepath.Join(dir, name), name)
	}
}

func TestPermissions(t *testing.T) {
	dir := t.TempDir()
	d := mustOpen(t, dir)
	for _, perm := range []fs.FileMode{0o600, 0o400, 0o700} {
		wantError(t, d.Write(t.Context(), claim(33), fileName, nil, perm), nil)
		info, err := os.Stat(filepath.Join(dir, fileName))
		if err != nil || info.Mode() != perm {
			t.Errorf("mode %v, %v; want %v", info.Mode(), err, perm)
		}
	}
}

func TestRemove(t *testing.T) {
	dir := t.TempDir()
	d := mustOpen(t, dir)
	mustWrite(t, d, 34, "paid")
	wantError(t, d.Remove(t.Context(), claim(33), fileName), fence.ErrStale)
	wantContent(t, filepath.Join(dir, fileName), "paid")
	wantError(t, d.Remove(t.Context(), claim(34), fileName), nil)
	_, err := os.Stat(filepath.Join(dir, fileName))
	wantError(t, err, fs.ErrNotExist)
	wantError(t, d.Remove(t.Context(), claim(34), fileName), fs.ErrNotExist)
	wantError(t, d.Write(t.Context(), claim(33), fileName, nil, 0o600), fence.ErrStale)
}

// TestLeftovers of a crash are neither taken for the new file nor kept.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	d := mustOpen(t, dir)
	left := filepath.Join(dir, ".fence", "new")
	wantError(t, os.WriteFile(left, []byte("half of what was to be written, and longer"), 0o400), nil)
	mustWrite(t, d, 33, "paid")
	wantContent(t, filepath.Join(dir, fileName), "paid")
	_, err := os.Stat(left)
	wantError(t, err, fs.ErrNotExist)
}

// TestModify reads no link and no pipe, and tells a missing file from an empty one.
func TestModify(t *testing.T) {
	dir := t.TempDir()
	d := mustOpen(t, dir)
	var seen [][]byte
	modify := func(name string) error {
		return d.Modify(t.Context(), claim(33), name, 0o600, func(old []byte) ([]byte, error) {
			seen = append(seen, old)
			return nil, nil
		})
	}
	wantError(t, modify(fileName), nil)
	wantError(t, modify(fileName), nil)
	if len(seen) != 2 || seen[0] != nil || seen[1] == nil {
		t.Errorf("saw %#v", seen)
	}
	wantError(t, os.Symlink(fileName, filepath.Join(dir, "link")), nil)
	wantError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600), nil)
	for _, name := range []string{"link", "pipe"} {
		if err := modify(name); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: %v", name, err)
		}
	}
	wantError(t, modify(".fence/lock"), fence.ErrInvalid)
	if len(seen) != 2 {
		t.Errorf("saw %#v", seen)
	}
}
