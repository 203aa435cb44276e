package connect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
)

// The selected context of the nats command line is offered where neither a server nor a context is given.
func TestSelectedContext(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	if err := os.Mkdir(filepath.Join(dir, "nats"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "nats", "context.txt"), []byte("here\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		flags  Flags
		offers bool
	}{
		{Flags{server: nats.DefaultURL}, true},
		{Flags{server: "nats://elsewhere"}, false},
		{Flags{server: nats.DefaultURL, context: "there"}, false},
	} {
		if text := test.flags.orContext(); strings.HasSuffix(text, "--context here") != test.offers {
			t.Errorf("%+v offers %q", test.flags, text)
		}
	}
}
