package settings_test

import (
	"slices"
	"testing"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
)

// A command gets neither the secrets of the login nor what an outer lock has set.
func TestForCommand(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ given, want []string }{
		{
			[]string{"PATH=/bin", "NATS_USER=ann", "NATS_PASSWORD=x", "NATS_URL=nats://a:4222", "HOLDFAST_PASSWORD=y",
				"HOLDFAST_TOKEN=000000000000001", "HOLDFAST_OWNER=me"},
			[]string{"PATH=/bin", "NATS_USER=ann", "NATS_URL=nats://a:4222", "HOLDFAST_OWNER=me"},
		},
		{[]string{"NATS_USER=token", "NATS_URL=nats://ann:x@a:4222", "NATS_CREDS=file", "HOME=/root"},
			[]string{"NATS_CREDS=file", "HOME=/root"}},
	} {
		if got := settings.ForCommand(test.given); !slices.Equal(got, test.want) {
			t.Errorf("%q: got %q, want %q", test.given, got, test.want)
		}
	}
}
