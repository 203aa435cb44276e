//go:build !linux && !darwin && !windows

package embedded

func space(string) (free, total uint64) { return 0, 0 }
