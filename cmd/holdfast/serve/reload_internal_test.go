package serve

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// A file that cannot be read again is logged with the reason, and keeps no other from being read.
func TestReloadAfterAFailure(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	r := &reload{log: slog.New(slog.NewTextHandler(&lines, nil))}
	var read []string
	r.add("first", "a.conf", func() error { read = append(read, "first"); return errors.New("line 3: no such key") })
	r.add("second", "b.conf", func() error { read = append(read, "second"); return nil })
	r.readAll()
	if got := strings.Join(read, " "); got != "first second" {
		t.Errorf("read: %s", got)
	}
	for _, want := range []string{`what=first file=a.conf error="line 3: no such key"`,
		`msg=reloaded what=second file=b.conf`} {
		if !strings.Contains(lines.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, &lines)
		}
	}
}
