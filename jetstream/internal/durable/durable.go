// Package durable writes files of which it is known that they are on disk.
package durable

import (
	"errors"
	"os"
)

// WriteFile writes a file that only its owner may read, and returns when its content is on disk. Its name is when
// [SyncDir] of its folder has returned.
func WriteFile(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// SyncDir returns when the entries of a folder are on disk.
func SyncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
