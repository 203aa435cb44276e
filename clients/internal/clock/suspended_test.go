package clock_test

import (
	"runtime"
	"slices"
	"testing"

	"github.com/holdfast-io/holdfast/clients/internal/clock"
)

func TestCountsSuspend(t *testing.T) {
	if want := slices.Contains([]string{"linux", "darwin", "windows"}, runtime.GOOS); clock.CountsSuspend() != want {
		t.Errorf("on %s: %v, want %v", runtime.GOOS, !want, want)
	}
}
