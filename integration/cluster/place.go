//go:build linux

package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"
)

// place is a directory of files. It is locked as long as its process lives, so that the next
// one can tell which are left over from a crash and remove them.
type place struct {
	dir  string
	lock *flock.Flock
}

const placePrefix = "holdfast-cluster-"

// newPlace also removes all places that nobody has any more.
func newPlace() (*place, error) {
	everybody := flock.New(filepath.Join(os.TempDir(), "holdfast-cluster.lock"))
	if err := everybody.Lock(); err != nil {
		return nil, err
	}
	defer func() { _ = everybody.Close() }() // whoever makes a place has locked it before another looks
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
			return fmt.Errorf("left over from a process that is gone: %w; unmount what is in it and remove it", err)
		}
	}
	return nil
}

// remove unmounts what is mounted below and removes the directory. The processes that used it are gone: they
// die with the one that has started them.
func (p *place) remove() error {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(mounts)) {
		if at := strings.Fields(line)[1]; strings.HasPrefix(at, p.dir+"/") {
			if err := unix.Unmount(at, 0); err != nil {
				return fmt.Errorf("unmount %s: %w", at, err)
			}
		}
	}
	return errors.Join(os.RemoveAll(p.dir), p.lock.Close())
}
