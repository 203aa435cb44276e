package operate

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
)

// wholeFile is a file that is written completely or not at all. Only its owner may read it.
type wholeFile struct {
	path string
	// replace permits that there is a file of this name.
	replace bool
}

// check refuses a name that is in use.
func (w wholeFile) check() error {
	info, err := os.Lstat(w.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return w.failed(err)
	case !info.Mode().IsRegular():
		return exit.Usagef("%s is not a regular file; choose another name", display.Quote(w.path))
	case !w.replace:
		return exit.Usagef("%s exists; choose another name, or replace it with --force", display.Quote(w.path))
	}
	return nil
}

// write lets fill write the file under a temporary name in the same folder, syncs it and renames it.
func (w wholeFile) write(fill func(io.Writer) error) error {
	if err := w.check(); err != nil {
		return err
	}
	dir := filepath.Dir(w.path)
	part, err := os.CreateTemp(dir, "."+filepath.Base(w.path)+".*")
	if err != nil {
		return w.failed(err)
	}
	defer func() { _ = os.Remove(part.Name()) }() // it has another name if all went well
	err = fill(part)
	if err == nil {
		err = w.failed(part.Sync())
	}
	if closed := part.Close(); err == nil {
		err = w.failed(closed)
	}
	if err == nil {
		err = w.check()
	}
	if err == nil {
		err = w.failed(os.Rename(part.Name(), w.path))
	}
	if err == nil {
		err = w.failed(syncDir(dir))
	}
	return err
}

// failed names the file in an error; nil stays nil.
func (w wholeFile) failed(err error) error {
	if err == nil {
		return nil
	}
	return exit.Usagef("cannot write %s: %w", display.Quote(w.path), settings.RootCause(err))
}

// syncDir makes the names of the folder durable. Windows does that by itself, and syncs no folder.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
