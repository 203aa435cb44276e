package simnats

import (
	"strings"

	natsserver "github.com/nats-io/nats-server/v2/server"
)

// matches reports whether a subject, or every subject of a pattern, is among those of a pattern. What is before the
// first wildcard decides most of it, without a look at the tokens.
func matches(pattern, subject string) bool {
	wild := strings.IndexByte(pattern, '*')
	if wild < 0 {
		wild = strings.IndexByte(pattern, '>')
	}
	if wild < 0 {
		return pattern == subject
	}
	return strings.HasPrefix(subject, pattern[:wild]) && natsserver.SubjectMatchesFilter(subject, pattern)
}

// Permissions are what a user may publish and subscribe to, as in the configuration of NATS.
type Permissions struct {
	Publish, Subscribe Subjects
}

// Subjects are patterns that are allowed, and patterns that are denied nevertheless. Allow nil: all.
type Subjects struct{ Allow, Deny []string }

// permits reports whether a subject may be published to, or a pattern subscribed to: all of it is allowed, and not all
// of it is denied. What is denied of a pattern is not delivered.
func (s Subjects) permits(pattern string) bool {
	allowed := s.Allow == nil
	for _, p := range s.Allow {
		allowed = allowed || matches(p, pattern)
	}
	for _, p := range s.Deny {
		allowed = allowed && !matches(p, pattern)
	}
	return allowed
}
