//go:build linux

package cluster

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

func mustPlace(t *testing.T) *place {
	t.Helper()
	p, err := newPlace()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.remove(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func mustDisk(t *testing.T) *disk {
	t.Helper()
	needRoot(t)
	in := mustPlace(t)
	within, err := newNamespace()
	mustDo(t, err)
	t.Cleanup(within.close)
	d, err := newDisk(t.Context(), within, in.dir, 64<<20)
	mustDo(t, err)
	return d
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWitness(t *testing.T) {
	t.Parallel()
	d := mustDisk(t)
	mustDo(t, d.witness())
	mustDo(t, d.restorePower(t.Context()))
	if err := d.examine(); !errors.Is(err, ErrNoEvidence) {
		t.Errorf("an orderly stop: %v", err)
	}
	if err := d.examine(); err == nil || errors.Is(err, ErrNoEvidence) {
		t.Errorf("what was synced is lost: %v", err)
	}
	for range 10 {
		mustDo(t, d.witness())
		mustDo(t, d.cutPower())
		mustDo(t, d.restorePower(t.Context()))
		mustDo(t, d.examine())
	}
}

func TestFull(t *testing.T) {
	t.Parallel()
	d := mustDisk(t)
	if d.isFull() {
		t.Error("it is full at first")
	}
	mustDo(t, d.fill())
	if !d.isFull() {
		t.Error("it is not full")
	}
	mustDo(t, d.fill())
	mustDo(t, d.empty())
	if d.isFull() {
		t.Error("it is still full")
	}
}

// A process that makes a mount namespace gets a copy of each mount that it sees. A copy of the disk would keep
// the file system that has lost its power alive.
func TestPowerCutBesideMountNamespace(t *testing.T) {
	t.Parallel()
	d := mustDisk(t)
	mustDo(t, d.witness())
	mustDo(t, d.cutPower())
	other, err := startThread(func() error { return unix.Unshare(unix.CLONE_NEWNS) })
	mustDo(t, err)
	defer other.close()
	mustDo(t, d.restorePower(t.Context()))
	mustDo(t, d.examine())
}
