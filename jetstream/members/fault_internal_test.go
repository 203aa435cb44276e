package members

import (
	"testing"
)

func TestStorageFault(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]bool{
		"JetStream stream '$G > KV_HOLDFAST_0' is not current: node write error: no space left on device": true,
		"JetStream stream '$G > KV_HOLDFAST_0' is not current: stream catching up":                        false,
		"JetStream not enabled": true,
		"JetStream has not established contact with a meta leader": false,
	} {
		got := storageFault(&health{Errors: []healthError{{Error: said}}})
		if (got != "") != want {
			t.Errorf("%q: fault %q", said, got)
		}
	}
}
