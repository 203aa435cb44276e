package commands

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
)

// Each command that help lists has a page, which is the same on each host.
func TestManual(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	if code := (&Program{Stderr: os.Stderr}).Run(t.Context(), []string{"manual", dir}); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	for _, c := range newRoot(&Program{}).Commands() {
		page, err := os.ReadFile(filepath.Join(dir, "holdfast-"+c.Name()+".1"))
		if c.Hidden {
			if err == nil {
				t.Errorf("there is a page of the hidden command %s", c.Name())
			}
			continue
		}
		if err != nil {
			t.Error(err)
		}
		if bytes.Contains(page, []byte(roff(cli.HostName()))) {
			t.Errorf("the page of %s names the host that has written it", c.Name())
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "holdfast-serve.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n.SH EMBEDDED NATS\n.nf\n", `\&      \-\-data DIR `} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page of serve has no %q:\n%s", want, page)
		}
	}
}

func TestManualNeedsADirectory(t *testing.T) {
	var stderr bytes.Buffer
	if code := (&Program{Stderr: &stderr}).Run(t.Context(), []string{"manual"}); code != exit.Usage || !strings.Contains(stderr.String(), "directory") {
		t.Errorf("exit code %d, %s", code, &stderr)
	}
}
