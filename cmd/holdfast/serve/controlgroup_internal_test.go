package serve

import (
	"math"
	"testing"
	"testing/fstest"
)

func TestGroupLimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		groups string
		files  map[string]string
		want   int64
	}{
		"none":      {"", nil, math.MaxInt64},
		"version 2": {"0::/\n", map[string]string{"memory.max": "300\n", "memory.high": "max\n"}, 300},
		"high":      {"0::/\n", map[string]string{"memory.max": "300\n", "memory.high": "200\n"}, 200},
		"unlimited": {"0::/a\n", map[string]string{"a/memory.max": "max\n"}, math.MaxInt64},
		"nested": {"0::/a/b/c\n", map[string]string{"a/b/c/memory.max": "300\n", "a/memory.max": "200\n",
			"other/memory.max": "1\n"}, 200},
		"host's path": {"0::/docker/1f\n", map[string]string{"memory.max": "300\n"}, 300},
		"outside":     {"0::/../../a\n", map[string]string{"a/memory.max": "300\n"}, 300},
		"version 1": {"9:cpu,memory:/a/b\n1:cpu:/c\n0::/\n", map[string]string{
			"memory/a/b/memory.limit_in_bytes": "9223372036854771712\n", "memory/a/memory.limit_in_bytes": "200\n",
			"memory/c/memory.limit_in_bytes": "1\n",
		}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := fstest.MapFS{"proc/self/cgroup": {Data: []byte(c.groups)}}
			for file, text := range c.files {
				root["sys/fs/cgroup/"+file] = &fstest.MapFile{Data: []byte(text)}
			}
			if got := groupLimit(root); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}
