package embedded

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"

	"github.com/holdfast-io/holdfast/jetstream/internal/durable"
)

const (
	// probeFile is written to find out whether the disk of a data directory takes data again.
	probeFile = "holdfast.probe"
	// probeBytes has to fit in addition: a disk with less free space is full as soon as NATS has started.
	probeBytes = 256 << 10
)

// probeDisk writes a file in the directory, syncs it and the directory, and removes the file. It returns
// why the disk takes no data, nil if it does.
func probeDisk(dir string) error {
	path := filepath.Join(dir, probeFile)
	err := durable.WriteFile(path, bytes.Repeat([]byte{1}, probeBytes))
	if err == nil {
		err = durable.SyncDir(dir)
	}
	if removed := os.Remove(path); !errors.Is(removed, os.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}
