package doctor

import (
	"slices"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// grant is on which subjects a user may publish, or to which it may subscribe. A denial outweighs. What concerns queue
// groups only has the name of the group after the subject, and so matches no subject.
type grant struct{ allow, deny []string }

// grantOf returns that of a list of permissions; nil allows everything, and so does one that only denies.
func grantOf(s *server.SubjectPermission) grant {
	if s == nil {
		return grant{allow: []string{">"}}
	}
	if len(s.Allow) == 0 {
		return grant{allow: []string{">"}, deny: s.Deny}
	}
	return grant{allow: s.Allow, deny: s.Deny}
}

// within returns the parts of a pattern that are granted.
func (g grant) within(pattern string) []string {
	return slices.DeleteFunc(overlaps(g.allow, pattern), func(part string) bool { return coveredBy(g.deny, part) })
}

// outside returns the parts of a pattern that are not granted.
func (g grant) outside(pattern string) []string {
	if !coveredBy(g.allow, pattern) {
		return []string{pattern}
	}
	return overlaps(g.deny, pattern)
}

// coveredBy reports whether one of the patterns matches all subjects that a pattern matches.
func coveredBy(patterns []string, pattern string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return server.SubjectMatchesFilter(pattern, p) })
}

// overlaps returns what each of the patterns and a pattern have in common.
func overlaps(patterns []string, pattern string) (parts []string) {
	for _, p := range patterns {
		if server.SubjectsCollide(p, pattern) {
			parts = append(parts, overlap(p, pattern))
		}
	}
	return parts
}

// overlap returns the pattern of the subjects that match both of two patterns that collide.
func overlap(a, b string) string {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range x {
		switch {
		case x[i] == ">":
			return strings.Join(append(x[:i], y[i:]...), ".")
		case y[i] == ">":
			return strings.Join(x, ".")
		case x[i] == "*":
			x[i] = y[i]
		}
	}
	return strings.Join(x, ".")
}
