//go:build linux

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// disk is a file with a file system in it that can lose its power. It is mounted in a namespace.
type disk struct {
	within *namespace
	image  string
	// mountpoint is its directory for processes of the namespace, dir the same directory for all others.
	mountpoint, dir string
}

// newDisk makes a disk of size bytes in the directory in, and mounts it in the namespace.
func newDisk(ctx context.Context, within *namespace, in string, size int64) (*disk, error) {
	d := &disk{within: within, image: filepath.Join(in, "disk.img"), mountpoint: filepath.Join(in, "disk")}
	d.dir = within.path(d.mountpoint)
	if err := os.MkdirAll(d.mountpoint, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(d.image, nil, 0o600); err != nil {
		return nil, err
	}
	if err := os.Truncate(d.image, size); err != nil {
		return nil, err
	}
	// Nothing is reserved for root, so that full is full; and nothing is written in the background.
	if err := command(ctx, "mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0", d.image); err != nil {
		return nil, err
	}
	return d, d.mount(ctx)
}

func (d *disk) mount(ctx context.Context) error {
	return d.within.inside(func() error { return command(ctx, "mount", "-o", "loop,noatime", d.image, d.mountpoint) })
}

// unmount waits a little for a process that has just ended to let go.
func (d *disk) unmount(ctx context.Context) error {
	return eventually(ctx, 5*time.Second, func(context.Context) error {
		if err := d.within.inside(func() error { return unix.Unmount(d.mountpoint, 0) }); err != nil {
			return fmt.Errorf("unmount %s: %w", d.mountpoint, err)
		}
		return nil
	})
}

// cutPower makes the file system forget what it has not written, and refuse everything from now on.
func (d *disk) cutPower() error {
	const (
		shutdown = 0x8004587d // FS_IOC_SHUTDOWN
		noFlush  = 2          // not even the journal
	)
	f, err := os.Open(d.dir)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if err := unix.IoctlSetPointerInt(int(f.Fd()), shutdown, noFlush); err != nil {
		return fmt.Errorf("cut the power of %s: %w", d.dir, err)
	}
	return nil
}

// restorePower mounts the disk again, as a machine does that boots. No process may have a file open on it.
func (d *disk) restorePower(ctx context.Context) error {
	if err := d.unmount(ctx); err != nil {
		return err
	}
	return d.mount(ctx)
}

// The two files that distinguish a power cut from an orderly stop.
const (
	syncedFile   = "synced"
	unsyncedFile = "unsynced"
)

// witness writes the two. Only the one is to survive, so a process on the disk must not sync it between
// this and the cut: that may write the other, too.
func (d *disk) witness() error {
	for name, sync := range map[string]bool{syncedFile: true, unsyncedFile: false} {
		if err := writeFile(filepath.Join(d.dir, name), sync); err != nil {
			return fmt.Errorf("witness of a power cut: %w", err)
		}
	}
	return nil
}

func testimony() []byte { return bytes.Repeat([]byte("holdfast"), 1024) }

func writeFile(path string, sync bool) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(testimony())
	if sync {
		err = errors.Join(err, f.Sync())
	}
	return errors.Join(err, f.Close())
}

// examine returns an error unless just what was synced has survived, and removes the two.
func (d *disk) examine() error {
	synced, syncedErr := os.ReadFile(filepath.Join(d.dir, syncedFile))
	unsynced, unsyncedErr := os.ReadFile(filepath.Join(d.dir, unsyncedFile))
	for _, name := range []string{syncedFile, unsyncedFile} {
		_ = os.Remove(filepath.Join(d.dir, name))
	}
	switch {
	case syncedErr != nil || !bytes.Equal(synced, testimony()):
		return fmt.Errorf("a power cut must leave what was synced: %d of %d bytes are left, %w", len(synced),
			len(testimony()), syncedErr)
	case unsyncedErr == nil && bytes.Equal(unsynced, testimony()):
		return fmt.Errorf("%w: what was not synced has survived", ErrNoEvidence)
	}
	return nil
}

// fill takes all that is free.
func (d *disk) fill() error {
	f, err := os.OpenFile(filepath.Join(d.dir, "ballast"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	for at, piece := info.Size(), int64(64<<20); piece >= 4096; {
		switch err := unix.Fallocate(int(f.Fd()), 0, at, piece); {
		case err == nil:
			at += piece
		case errors.Is(err, unix.ENOSPC):
			piece /= 2
		case !errors.Is(err, unix.EINTR):
			return fmt.Errorf("fill %s: %w", d.dir, err)
		}
	}
	return nil
}

// isFull tries it.
func (d *disk) isFull() bool {
	probe := filepath.Join(d.dir, "probe")
	defer func() { _ = os.Remove(probe) }()
	return errors.Is(writeFile(probe, true), unix.ENOSPC)
}

// empty gives back what fill took.
func (d *disk) empty() error {
	return os.Remove(filepath.Join(d.dir, "ballast"))
}

// command runs a program to its end. What it says is its error.
func command(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %q: %w: %s", name, args, err, bytes.TrimSpace(out))
	}
	return nil
}
