package serve

import (
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// groupLimit returns the lowest limit of memory in bytes of the control groups of this process and those around them,
// [math.MaxInt64] without one. In a container the paths may be those of the host; the top of the tree is the container
// then.
func groupLimit(root fs.FS) int64 {
	lowest := int64(math.MaxInt64)
	groups, _ := fs.ReadFile(root, "proc/self/cgroup") // other systems have none
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		top, files := "sys/fs/cgroup", []string{"memory.max", "memory.high"}
		if slices.Contains(strings.Split(parts[1], ","), "memory") {
			top, files = "sys/fs/cgroup/memory", []string{"memory.limit_in_bytes"}
		} else if parts[1] != "" {
			continue
		}
		for dir := path.Join(top, path.Join("/", parts[2])); strings.HasPrefix(dir, top); dir = path.Dir(dir) {
			for _, file := range files {
				text, _ := fs.ReadFile(root, path.Join(dir, file)) // the root has none
				if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
					lowest = min(lowest, limit)
				}
			}
		}
	}
	return lowest
}
