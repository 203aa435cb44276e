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
// it shows which are left over from a crash and remove them.
type place struct {
	dir  string
	lock *flock.Flock
}

const placePrefix = "holdfast-cluster-"

// newPlace also removes all places that no process uses any more.
func newPlace() (*place, error) {
	all, err := lockPlaces() // a new place is locked before another process looks
	if err != nil {
		return nil, err
	}
	defer func() { _ = all.Close() }()
	if err := removeStale(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", placePrefix)
	if err != nil {
		return nil, err
	}
	p := &place{dir: dir, lock: flock.New(filepath.Join(dir, "lock"))}
	if _, err := p.lock.TryLock(); err != nil {
		return nil, errors.Join(err, p.drop())
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
		if err := p.drop(); err != nil {
			return fmt.Errorf("left over from a process that is gone: %w; remove it", err)
		}
	}
	return nil
}

// remove removes the directory. Processes that used it and disks that were mounted in it are gone: they end with
// the process that has made them.
func (p *place) remove() error {
	all, err := lockPlaces() // else another process might lock it again halfway
	if err != nil {
		return err
	}
	return errors.Join(p.drop(), all.Close())
}

// lockPlaces returns the lock under which places are created, looked for and removed.
func lockPlaces() (*flock.Flock, error) {
	all := flock.New(filepath.Join(os.TempDir(), "holdfast-cluster.lock"))
	return all, all.Lock()
}

// drop removes the directory, under the lock of all places.
func (p *place) drop() error {
	return errors.Join(os.RemoveAll(p.dir), p.lock.Close())
}
