//go:build linux || darwin

package embedded

import "golang.org/x/sys/unix"

func space(dir string) (free, total uint64) {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return 0, 0
	}
	return s.Bavail * uint64(s.Bsize), s.Blocks * uint64(s.Bsize)
}
