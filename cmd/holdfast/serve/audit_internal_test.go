package serve

import (
	"bytes"
	"log/slog"
	"syscall"
	"testing"
)

// fullDisk takes so many bytes and fails beyond them, as a disk does that is full.
type fullDisk struct {
	bytes.Buffer
	room int
}

func (f *fullDisk) Write(p []byte) (int, error) {
	n := min(f.room, len(p))
	f.room -= n
	f.Buffer.Write(p[:n])
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

func (f *fullDisk) Close() error { return nil }

// A line of which a part was written does not spoil the one after it.
func TestAuditFileAfterAShortWrite(t *testing.T) {
	t.Parallel()
	disk := &fullDisk{room: 9}
	a := &auditFile{log: slog.New(slog.DiscardHandler), file: disk}
	for _, line := range []struct {
		text  string
		fails bool
		room  int // afterwards
	}{{"first\n", false, 3}, {"second\n", true, 0}, {"third\n", true, 100}, {"fourth\n", false, 100},
		{"fifth\n", false, 100}} {
		if _, err := a.Write([]byte(line.text)); (err != nil) != line.fails {
			t.Errorf("%q: %v", line.text, err)
		}
		disk.room = line.room
	}
	if got, want := disk.String(), "first\nsec\nfourth\nfifth\n"; got != want {
		t.Errorf("the file has %q, want %q", got, want)
	}
}
