package fencefile_test

import (
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

// TestForeign runs the suite with the guards of other languages in the same directory.
func TestForeign(t *testing.T) {
	dir := t.TempDir()
	fencetest.RunForeign(t, subject(dir), fencetest.Store{
		Names:   map[string][]string{"python": {"file"}, "typescript": {"file"}, "java": {"file"}},
		Address: func(func(string) string) string { return dir },
		Keys:    func(resource string) []string { return []string{fileOf(resource)} },
	})
}
