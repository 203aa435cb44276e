package main

import (
	"fmt"
	"slices"
)

// target is a platform, by Go's names.
type target struct{ os, arch string }

// targets are the platforms of a release.
var targets = []target{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"},
}

func (t target) String() string { return t.os + "/" + t.arch }

// binary returns the file name of the program.
func (t target) binary() string {
	if t.os == "windows" {
		return "holdfast.exe"
	}
	return "holdfast"
}

func parseTargets(names []string) (chosen []target, err error) {
	for _, name := range names {
		i := slices.IndexFunc(targets, func(t target) bool { return t.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("platform %q: want some of %v", name, targets)
		}
		chosen = append(chosen, targets[i])
	}
	return chosen, nil
}
