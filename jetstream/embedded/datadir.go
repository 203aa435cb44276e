package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"
)

// lockFile excludes a second server from a data directory. The operating system releases the lock when the
// process ends.
const lockFile = "holdfast.lock"

// lockDataDir creates the directory if it is missing and locks it for this server.
func lockDataDir(dir string) (*flock.Flock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, dataDirError(dir, err)
	}
	lock := flock.New(filepath.Join(dir, lockFile), flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	taken, err := lock.TryLock()
	if err != nil {
		return nil, dataDirError(dir, err)
	}
	if !taken {
		return nil, fmt.Errorf(
			"%w: %s is in use by another process, which holds %s; stop that one, or choose another directory",
			ErrDataDir, dir, lockFile)
	}
	return lock, nil
}

func dataDirError(dir string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%w: %s is not a directory; choose another, or move the file away: %w", ErrDataDir, dir, err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: %s is not writable; let this user write there, or choose another: %w", ErrDataDir, dir,
			err)
	default:
		return fmt.Errorf("%w: %s: %w", ErrDataDir, dir, err)
	}
}
