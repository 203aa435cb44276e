package simnats

import (
	"testing"

	natsserver "github.com/nats-io/nats-server/v2/server"
)

// What a pattern has is what NATS says.
func TestMatches(t *testing.T) {
	subjects := []string{
		">", "*", "*.>", "*.*", "a", "b", "aa", "a.b", "a.a", "aa.b", "a.>", "a.*", "a.b.c", "a.*.c", "a.*.>", "a.b.>",
		"*.b", "*.b.>", "a.b.*", "b.b.c",
	}
	for _, pattern := range subjects {
		for _, subject := range subjects {
			if got, want := matches(pattern, subject), natsserver.SubjectMatchesFilter(subject, pattern); got != want {
				t.Errorf("%s has %s: %t, want %t", pattern, subject, got, want)
			}
		}
	}
}
