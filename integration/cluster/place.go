//go:build linux

package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// place is a directory of files. It is locked as long as its process lives, so that the next
// one can tell which are left over from a crash and remove them.
type place struct {
	dir  string
	lock *flock.Flock
}

const placePrefix = "holdfast-cluster-"

// newPlace also removes all places that no process uses any more.
func newPlace() (*place, error) {
	everybody := flock.New(filepath.Join(os.TempDir(), "holdfast-cluster.lock"))
	if err := everybody.Lock(); err != nil {
		return nil, err
	}
	defer func() { _ = everybody.Close() }() // a new place is locked before another process looks
	if err := removeStale(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", placePrefix)
	if err != nil {
		return nil, err
	}
	p := &place{dir: dir, lock: flock.New(filepath.Join(dir, "lock"))}
	if _, err := p.lock.TryLock(); err != nil {
		return nil, errors.Join(err, p.remove())
	}
	return p, nil
}

func removeStale() error {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), placePrefix+"*"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		p := &place{dir: dir, lock: flock.New(filepath.Join(dir, "lock"))}
		free, err := p.lock.TryLock()
		switch {
		case errors.Is(err, os.ErrPermission) || err == nil && !free:
			continue // another user's, or alive
		case err != nil:
			return err
		}
		if err := p.remove(); err != nil {
			return fmt.Errorf("left over from a process that is gone: %w; remove it", err)
		}
	}
	return nil
}

// remove removes the directory. Processes that used it and disks that were mounted in it are gone: they end with
// the process that has made them.
func (p *place) remove() error {
	return errors.Join(os.RemoveAll(p.dir), p.lock.Close())
}
