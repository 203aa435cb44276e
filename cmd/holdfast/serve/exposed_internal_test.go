package serve

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
)

// What others can write to, and a secret that others can read, is named in the log, and nothing else.
func TestExposedFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such permissions")
	}
	t.Parallel()
	dir := t.TempDir()
	file := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode][]string{
		0o600: nil,
		0o640: nil,
		0o644: {"auth", "nkey"},
		0o602: {"auth", "data", "nkey", "tenants"},
	} {
		if err := os.Chmod(data, mode|0o100); err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		s := newServe("", nil)
		s.login.NKey, s.login.Creds = file("nkey", mode), filepath.Join(dir, "missing")
		s.tenants.file = file("tenants", mode)
		s.warnOfExposed(&server.Config{
			Embedded: embedded.Config{DataDir: data, AuthFile: file("auth", mode)},
			Config:   node.Config{Log: slog.New(slog.NewTextHandler(&text, nil))},
		})
		var got []string
		for _, flag := range []string{"auth", "creds", "data", "nkey", "tenants"} {
			if strings.Contains(text.String(), "flag=--"+flag+" file="+filepath.Join(dir, flag)+" mode=") {
				got = append(got, flag)
			}
		}
		if strings.Join(got, " ") != strings.Join(want, " ") || strings.Count(text.String(), "\n") != len(want) {
			t.Errorf("mode %04o: got %v, want %v:\n%s", mode, got, want, text.String())
		}
	}
}
