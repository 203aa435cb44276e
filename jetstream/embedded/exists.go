package embedded

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// anyEntry stands for every entry of a directory in the path of [holdsAny].
const anyEntry = "*"

// holdsAny reports whether the directory contains the path, of which each element is a name or anyEntry. A
// directory that cannot be read is an error.
func holdsAny(dir string, below ...string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	if err != nil {
		return false, dataDirError(dir, err)
	}
	for _, entry := range entries {
		if below[0] != anyEntry && below[0] != entry.Name() {
			continue
		}
		if len(below) == 1 {
			return true, nil
		}
		if found, err := holdsAny(filepath.Join(dir, entry.Name()), below[1:]...); found || err != nil {
			return found, err
		}
	}
	return false, nil
}
