package embedded

import "golang.org/x/sys/windows"

func space(dir string) (free, total uint64) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil || windows.GetDiskFreeSpaceEx(path, &free, &total, nil) != nil {
		return 0, 0
	}
	return free, total
}
