package fencefile_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencefile"
)

func TestOpenWithoutADirectory(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	_, err := fencefile.Open(missing)
	wantError(t, err, fs.ErrNotExist)
	if err == nil || !strings.Contains(err.Error(), "mkdir -p") {
		t.Errorf("%v does not say how to make one", err)
	}
}

func TestOpenWithAnUnknownRule(t *testing.T) {
	_, err := fencefile.Open(t.TempDir(), fencefile.WithRule(7))
	wantError(t, err, fence.ErrInvalid)
}

func TestOpenWithoutRoomForMarks(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".fence"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := fencefile.Open(dir); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("a file in place of the guard's directory: %v", err)
	}
	wantContent(t, filepath.Join(dir, ".fence"), "")
}

// TestDo makes the change only for whom the rule lets pass, and keeps the mark whatever becomes of it.
func TestDo(t *testing.T) {
	d := mustOpen(t, t.TempDir())
	failure := errors.New("disk full")
	calls := 0
	change := func(*os.Root) error { calls++; return failure }
	wantError(t, d.Do(t.Context(), claim(34), change), failure)
	wantError(t, d.Do(t.Context(), claim(33), change), fence.ErrStale)
	wantError(t, d.Do(t.Context(), fence.Claim{}, change), fence.ErrInvalid)
	wantError(t, d.Do(t.Context(), claim(34), change), failure)
	if calls != 2 {
		t.Errorf("%d changes were made, want 2", calls)
	}
}

// TestPanic of a change does not leave the directory locked.
func TestPanic(t *testing.T) {
	d := mustOpen(t, t.TempDir())
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was lost")
			}
		}()
		_ = d.Do(t.Context(), claim(34), func(*os.Root) error { panic("in a change") })
	}()
	mustWrite(t, d, 34, "paid")
}

// TestWaiting ends with the caller's context, whether a goroutine or another guard has the lock.
func TestWaiting(t *testing.T) {
	dir := t.TempDir()
	holder := mustOpen(t, dir)
	for name, waiter := range map[string]*fencefile.Dir{"same guard": holder, "another guard": mustOpen(t, dir)} {
		t.Run(name, func(t *testing.T) {
			err := holder.Do(t.Context(), claim(33), func(*os.Root) error {
				ctx, cancel := context.WithTimeout(t.Context(), 20*retryDelay)
				defer cancel()
				wantError(t, waiter.Raise(ctx, claim(34)), context.DeadlineExceeded)
				return nil
			})
			wantError(t, err, nil)
			wantError(t, waiter.Raise(t.Context(), claim(33)), nil) // 34 has left no mark
		})
	}
}

// retryDelay is the guard's. A few of them have to pass where waiting is tested.
const retryDelay = 2 * time.Millisecond

// TestMoved has two guards of one path that mean different directories: the older one must not write
// under a lock that is not its directory's.
func TestMoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "orders")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	old := mustOpen(t, dir)
	mustWrite(t, old, 33, "old")
	if err := os.Rename(dir, dir+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, mustOpen(t, dir), 34, "new")
	err := old.Write(t.Context(), claim(35), fileName, nil, 0o644)
	if err == nil || !strings.Contains(err.Error(), "moved") {
		t.Errorf("a guard whose directory has another lock: %v", err)
	}
	wantContent(t, filepath.Join(dir, fileName), "new")
	wantContent(t, filepath.Join(dir+".moved", fileName), "old")
}

func TestRelativePath(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	d := mustOpen(t, ".")
	t.Chdir(t.TempDir())
	mustWrite(t, d, 34, "paid")
	wantContent(t, filepath.Join(dir, fileName), "paid")
}

// The guard reports what it has found itself: not what another guard found in a change, and nothing of a change that
// panics.
func TestVerdictOfAChangeThatFails(t *testing.T) {
	var verdicts []fence.Result
	dir := mustOpen(t, t.TempDir(), fencefile.WithObserver(
		func(v fence.Verdict) { verdicts = append(verdicts, v.Result) }))
	claim := fence.Claim{Resource: "r", Token: 2}
	if err := dir.Do(t.Context(), claim, func(*os.Root) error { return fence.ErrStale }); !errors.Is(err, fence.ErrStale) {
		t.Error(err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = dir.Do(t.Context(), claim, func(*os.Root) error { panic("a bug of the caller") })
	}()
	if len(verdicts) > 0 {
		t.Errorf("reported %v", verdicts)
	}
	if err := dir.Raise(t.Context(), claim); err != nil {
		t.Error(err)
	}
	if err := dir.Raise(t.Context(), fence.Claim{Resource: "r", Token: 1}); !errors.Is(err, fence.ErrStale) {
		t.Error(err)
	}
	if !slices.Equal(verdicts, []fence.Result{fence.Passed, fence.Stale}) {
		t.Errorf("reported %v", verdicts)
	}
}

// TestLinkInPlaceOfTheGuardsFiles is refused, wherever it leads, and nothing is made at its end.
func TestLinkInPlaceOfTheGuardsFiles(t *testing.T) {
	for _, name := range []string{".fence/lock", ".fence"} {
		t.Run(name, func(t *testing.T) {
			dir, outside := t.TempDir(), t.TempDir()
			d := mustOpen(t, dir)
			mustWrite(t, d, 33, "kept")
			moved, elsewhere, link := filepath.Join(outside, "moved"), filepath.Join(outside, "elsewhere"),
				filepath.Join(dir, name)
			wantError(t, os.Rename(link, moved), nil)
			for _, target := range []string{elsewhere, moved} {
				wantError(t, os.Symlink(target, link), nil)
				if err := d.Write(t.Context(), claim(34), fileName, nil, 0o600); err == nil || errors.Is(err, fence.ErrStale) {
					t.Errorf("a link to %s: %v", target, err)
				}
				wantError(t, os.Remove(link), nil)
			}
			if _, err := os.Lstat(elsewhere); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("at the end of the link: %v", err)
			}
			wantContent(t, filepath.Join(dir, fileName), "kept")
			wantError(t, os.Rename(moved, link), nil)
			mustWrite(t, d, 33, "present") // 34 has left no mark
		})
	}
}

// TestLinkInsideInPlaceOfTheGuardsFiles leads to a file of the caller's, which must not become the lock.
func TestLinkInsideInPlaceOfTheGuardsFiles(t *testing.T) {
	dir := t.TempDir()
	d := mustOpen(t, dir)
	mustWrite(t, d, 33, "kept")
	mark, lock := mustFindMark(t, dir), filepath.Join(dir, ".fence", "lock")
	wantError(t, os.Remove(lock), nil)
	wantError(t, os.Symlink("../"+fileName, lock), nil)
	if err := d.Raise(t.Context(), claim(34)); err == nil {
		t.Error("the file of the caller is the lock")
	}
	wantError(t, os.Remove(lock), nil)
	wantError(t, os.Rename(mark, filepath.Join(dir, "mark")), nil)
	wantError(t, os.Symlink("../mark", mark), nil)
	if err := d.Raise(t.Context(), claim(34)); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a mark that is a link: %v", err)
	}
}
