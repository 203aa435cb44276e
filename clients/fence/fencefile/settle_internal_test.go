package fencefile

import (
	"errors"
	"os"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// TestSettleFails checks that a change which was made, and could not be synced, has an unknown outcome. A
// file system that fails at this moment alone is not to be had, so the directory is gone.
func TestSettleFails(t *testing.T) {
	r, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := settle(r, "gone"); !errors.Is(err, fence.ErrUnknown) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, want one that is ErrUnknown and names the cause", err)
	}
	if err := settle(r, "."); err != nil {
		t.Error(err)
	}
}
