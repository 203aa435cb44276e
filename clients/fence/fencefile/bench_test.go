package fencefile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

// BenchmarkGuard compares replacing a file so that it survives a crash with doing so under the guard.
func BenchmarkGuard(b *testing.B) {
	dir := b.TempDir()
	d := mustOpen(b, dir)
	content := make([]byte, 256)
	fencetest.Compare(b,
		func() error { return replaceFile(filepath.Join(dir, "bare"), content) },
		func() error { return d.Write(b.Context(), claim(34), "guarded", content, 0o644) })
}

// replaceFile does what a careful program does without a guard.
func replaceFile(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "new")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err := errors.Join(err, f.Sync(), f.Close(), os.Rename(f.Name(), path)); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
