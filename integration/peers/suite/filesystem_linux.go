package suite

import "golang.org/x/sys/unix"

// inMemory reports whether the directory is on a file system without a disk, where a sync does nothing.
func inMemory(dir string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(dir, &fs) == nil && (fs.Type == unix.TMPFS_MAGIC || fs.Type == unix.RAMFS_MAGIC)
}
