package fencefile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// block is how many writes of one kind stand together. The two kinds take turns, so that what else the
// machine does slows both.
const block = 10

// BenchmarkGuard compares replacing a file so that it survives a crash with doing so under the guard.
func BenchmarkGuard(b *testing.B) {
	dir := b.TempDir()
	d := mustOpen(b, dir)
	content := make([]byte, 256)
	compare(b,
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

// compare reports what a write costs without and with its guard, and their ratio.
func compare(b *testing.B, bare, guarded func() error) {
	b.Helper()
	var spent [2]time.Duration
	n := 0
	for b.Loop() {
		for i, write := range []func() error{bare, guarded} {
			start := time.Now()
			for range block {
				if err := write(); err != nil {
					b.Fatal(err)
				}
			}
			spent[i] += time.Since(start)
		}
		n += block
	}
	perWrite := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(n) }
	b.ReportMetric(0, "ns/op") // of two blocks: tells nobody anything
	b.ReportMetric(perWrite(spent[0]), "bare-µs/op")
	b.ReportMetric(perWrite(spent[1]), "guarded-µs/op")
	b.ReportMetric(float64(spent[1])/float64(spent[0]), "x-bare")
}
