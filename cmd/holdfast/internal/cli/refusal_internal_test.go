package cli

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// A refusal names the flag and the value that the user gave, and rounds nothing.
func TestRefusalInFlags(t *testing.T) {
	wait := NewDuration(0, 0, 24*time.Hour)
	ttl := TTL()
	flags := pflag.NewFlagSet("acquire", pflag.ContinueOnError)
	flags.Var(&ttl, "ttl", "")
	flags.Var(&wait, "wait", "")
	if err := flags.Parse([]string{"--ttl", "1h0m1.234s", "--wait", "0.25h"}); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"ttl_ms: 1250 to 3600000, got 3601234":      `--ttl: 1.25s to 1h, got "1h0m1.234s"`,
		"invalid: ttl_ms: 100 to 90000, got 1 (x)":  `invalid: --ttl: 100ms to 1m30s, got "1h0m1.234s" (x)`,
		"wait_ms: at most 600000, got 1":            `--wait: at most 10m, got "0.25h"`,
		"ttl_ms: 10000 to 36000000, got 1":          `--ttl: 10s to 10h, got "1h0m1.234s"`,
		"owner: 1 to 256 bytes, got 300 bytes":      "owner: 1 to 256 bytes, got 300 bytes",
		"ttl_ms: at most 99999999999999999, got 12": `--ttl: at most 99999999999999999ms, got "1h0m1.234s"`,
	} {
		if got := Refusal(text, flags); got != want {
			t.Errorf("%q: got %q, wanted %q", text, got, want)
		}
		if got := Refusal(text, nil); got != text {
			t.Errorf("without flags: got %q, wanted %q", got, text)
		}
	}
}
