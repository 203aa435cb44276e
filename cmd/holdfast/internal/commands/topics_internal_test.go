package commands

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// The flags of a topic are on its page, and the help of a command names the page in their place.
func TestFlagsOfTopics(t *testing.T) {
	t.Parallel()
	help := func(args ...string) string {
		var out bytes.Buffer
		if code := (&Program{Stdout: &out, Stderr: os.Stderr}).Run(t.Context(), args); code != 0 {
			t.Fatalf("%q: exit code %d", args, code)
		}
		return out.String()
	}
	for topic, command := range map[string]string{"connection": "acquire", "serve-tls": "serve",
		"serve-limits": "serve"} {
		flag := map[string]string{"connection": "--creds FILE", "serve-tls": "--tls-cert FILE",
			"serve-limits": "--max-held NUMBER"}[topic]
		if text := help(command, "--help"); strings.Contains(text, flag) ||
			!strings.Contains(text, "see holdfast help "+topic+"\n") {
			t.Errorf("the help of %s has %s, or does not name %s:\n%s", command, flag, topic, text)
		}
		if text := help("help", topic); !strings.Contains(text, flag) {
			t.Errorf("the page %s lacks %s:\n%s", topic, flag, text)
		}
	}
	for _, page := range [][]string{{"acquire", "--help"}, {"help", "connection"}} {
		if text := help(page...); !strings.Contains(text, "-s, --server URL") {
			t.Errorf("%q lacks --server:\n%s", page, text)
		}
	}
}
