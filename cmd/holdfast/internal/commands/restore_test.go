package commands_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/commands"
	"github.com/holdfast-io/holdfast/messages/archive"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// sampleBackup returns a backup with some locks.
func sampleBackup(t *testing.T) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := archive.NewWriter(&file, &archive.Header{Prefix: "holdfast", Shards: 1, Version: "v1", AtMs: 1})
	if err != nil {
		t.Fatal(err)
	}
	page := &journal.Page{Number: 3, Epoch: 1}
	for _, name := range []string{"a", "b", "c", "d"} {
		page.Entries = append(page.Entries, &journal.Entry{Resource: name, Reserved: 7})
	}
	for _, err := range []error{w.Shard(&archive.Shard{Position: 3, Number: 3, Epoch: 1}), w.Page(page), w.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return file.Bytes()
}

// restore runs the command on a file with these bytes, into a folder that does not exist.
func restoreBytes(t *testing.T, dir string, file []byte, flags ...string) (code int, said, data string) {
	t.Helper()
	path := filepath.Join(dir, "backup")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	data = filepath.Join(dir, "data")
	var out bytes.Buffer
	p := commands.Program{Stdout: &out, Stderr: &out}
	code = p.Run(t.Context(), append([]string{"restore", path, "--data", data}, flags...))
	return code, out.String(), data
}

// A file that was cut anywhere, or in which any bytes were changed, is refused before anything is changed.
func TestDamagedBackupChangesNothing(t *testing.T) {
	t.Parallel()
	whole, dir := sampleBackup(t), t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		file := bytes.Clone(whole)
		if rapid.Bool().Draw(r, "cut") {
			file = file[:rapid.IntRange(0, len(file)-1).Draw(r, "length")]
		} else {
			for range rapid.IntRange(1, 3).Draw(r, "changes") {
				file[rapid.IntRange(0, len(file)-1).Draw(r, "at")] ^= rapid.Byte().Draw(r, "flip")
			}
		}
		if bytes.Equal(file, whole) {
			return
		}
		code, said, data := restoreBytes(t, dir, file)
		if _, err := os.Stat(data); code != 2 || !os.IsNotExist(err) ||
			!strings.HasSuffix(said, "nothing was changed\n") {
			r.Fatalf("exit code %d, it said %q, the directory: %v", code, said, err)
		}
	})
	code, said, data := restoreBytes(t, dir, whole)
	if _, err := os.Stat(data); code != 0 || err != nil {
		t.Errorf("the whole file: exit code %d, it said %q, the directory: %v", code, said, err)
	}
}

// Settings that contradict one another are refused with the way out, before the file is read.
func TestRestoreSettings(t *testing.T) {
	t.Parallel()
	for flags, want := range map[string]string{
		"--server nats://127.0.0.1:1": "--data and --server exclude each other",
		"--replicas 3":                "--replicas 3 needs as many servers",
		"--name n1":                   "--name needs --cluster-listen",
		"--shards 0":                  "--shards: 1 to 1024",
		"--ahead -1":                  "--ahead: 0 to 1000000000000",
		"--prefix a.>":                "--prefix",
	} {
		code, said, data := restoreBytes(t, t.TempDir(), nil, strings.Fields(flags)...)
		if _, err := os.Stat(data); code != 2 || !strings.Contains(said, want) || !os.IsNotExist(err) {
			t.Errorf("%s: exit code %d, it said %q", flags, code, said)
		}
	}
	var out bytes.Buffer
	p := commands.Program{Stdout: &out, Stderr: &out}
	if code := p.Run(t.Context(), []string{"restore", filepath.Join(t.TempDir(), "none"), "--data", t.TempDir()}); code != 2 || !strings.Contains(out.String(), "cannot read") {
		t.Errorf("a missing file: exit code %d, it said %q", code, out.String())
	}
}
