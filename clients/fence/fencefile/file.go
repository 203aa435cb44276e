package fencefile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// Write replaces the file of that name, a path inside the directory, or creates it with the permissions
// perm, before umask. When it returns nil the content is on disk. It is a [fence.StaleError] if the rule
// refuses the claim, and an error that is [fence.ErrInvalid] if the name leads out of the directory, by
// itself or through a symbolic link, or into .fence; neither writes anything or raises the mark. A
// symbolic link of that name is replaced, not followed.
func (d *Dir) Write(ctx context.Context, c fence.Claim, name string, content []byte, perm fs.FileMode) error {
	return d.changeFile(ctx, c, name, func(r *os.Root) error {
		return replace(r, name, content, perm)
	})
}

// Modify replaces the file of that name by what f makes of its content, which is nil if there is no file, as
// [Dir.Write] does. Reading and writing are one step with the check, so no other change is lost. All others wait for f,
// which must not call the guard. If f fails, the file stays as it is, the mark is raised, and the error is that of f. A
// symbolic link of that name is an error.
func (d *Dir) Modify(ctx context.Context, c fence.Claim, name string, perm fs.FileMode,
	f func(old []byte) ([]byte, error)) error {
	return d.changeFile(ctx, c, name, func(r *os.Root) error {
		old, err := read(r, name)
		if err != nil {
			return err
		}
		content, err := f(old)
		if err != nil {
			return err
		}
		return replace(r, name, content, perm)
	})
}

// Remove removes the file of that name, or a directory that is empty. It is fs.ErrNotExist if there is
// none; the mark is raised nevertheless. Otherwise errors are those of [Dir.Write].
func (d *Dir) Remove(ctx context.Context, c fence.Claim, name string) error {
	return d.changeFile(ctx, c, name, func(r *os.Root) error {
		if err := r.Remove(name); err != nil {
			return err
		}
		return settle(r, parent(name))
	})
}

// changeFile checks the name under the lock, because another change may turn a directory into a link.
func (d *Dir) changeFile(ctx context.Context, c fence.Claim, name string, change func(*os.Root) error) error {
	return d.do(ctx, c, func() error { return d.checkName(name) },
		func(r *os.Root) error { return d.failed(change(r)) })
}

// failed names the directory in an error, nil if there is none.
func (d *Dir) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", d.root.Name(), err)
}

// checkName refuses what is not a file of the caller's. Directories are compared as such, because one
// may have many names.
func (d *Dir) checkName(name string) error {
	if !filepath.IsLocal(name) || filepath.Clean(name) == "." {
		return fmt.Errorf("file name %q: %w: it is no path inside the directory", name, fence.ErrInvalid)
	}
	own, err := d.root.Stat(control)
	if err != nil {
		return err
	}
	if _, err := d.root.Stat(parent(name)); d.leadsOut(err) {
		return fmt.Errorf("file name %q: %w: a symbolic link leads out of the directory", name, fence.ErrInvalid)
	}
	for _, path := range []string{name, parent(name)} {
		if info, err := d.root.Stat(path); err == nil && os.SameFile(info, own) {
			return fmt.Errorf("file name %q: %w: %s belongs to the guard", name, fence.ErrInvalid, control)
		}
	}
	return nil
}

// leadsOut reports whether the error is that of a path which leaves the root. Package os has no name for it.
func (d *Dir) leadsOut(err error) bool {
	_, outside := d.root.Stat("..")
	return err != nil && errors.Is(err, errors.Unwrap(outside))
}

// parent returns the directory of a name as the system resolves it: "link/.." is not ".".
func parent(name string) string {
	dir, _ := filepath.Split(name)
	return cmp.Or(dir, ".")
}

// read returns the content of a file, nil if there is none. It follows no symbolic link of that name, and does not wait
// for a pipe.
func read(r *os.Root, name string) ([]byte, error) {
	info, err := r.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file; move it away", name)
	}
	return r.ReadFile(name)
}

// replace puts a new file in the place of name, so that a crash leaves the old one or the new one. Only
// one may run at a time.
func replace(r *os.Root, name string, content []byte, perm fs.FileMode) error {
	if err := r.Remove(newName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := create(r, newName, content, perm); err != nil {
		return err
	}
	if err := r.Rename(newName, name); err != nil {
		return err
	}
	return settle(r, parent(name))
}

// settle brings a change of the names in a directory to disk. The change was made, so an error leaves open
// whether it lasts.
func settle(r *os.Root, name string) error {
	if err := syncDir(r, name); err != nil {
		return fmt.Errorf("%w: %w", fence.ErrUnknown, err)
	}
	return nil
}

// create writes a file that there is not yet, on disk when it returns nil.
func create(r *os.Root, name string, content []byte, perm fs.FileMode) error {
	f, err := r.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDir brings the names in a directory to disk.
func syncDir(r *os.Root, name string) error {
	f, err := r.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
