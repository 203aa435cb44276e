package simnats

import "strings"

// matches reports whether a subject is among those of a pattern.
func matches(pattern, subject string) bool {
	for {
		p, restOfPattern, morePattern := strings.Cut(pattern, ".")
		if p == ">" {
			return subject != ""
		}
		s, restOfSubject, moreSubject := strings.Cut(subject, ".")
		if s == "" || p != "*" && p != s {
			return false
		}
		if !morePattern || !moreSubject {
			return morePattern == moreSubject
		}
		pattern, subject = restOfPattern, restOfSubject
	}
}

// overlaps reports whether two patterns have a subject in common.
func overlaps(a, b string) bool {
	for {
		x, restA, moreA := strings.Cut(a, ".")
		y, restB, moreB := strings.Cut(b, ".")
		if x == ">" || y == ">" {
			return true
		}
		if x != y && x != "*" && y != "*" {
			return false
		}
		if !moreA || !moreB {
			return moreA == moreB
		}
		a, b = restA, restB
	}
}

// Permissions are what a user may publish and subscribe to, as in the configuration of NATS.
type Permissions struct {
	Publish, Subscribe Subjects
}

// Subjects are patterns that are allowed, and patterns that are denied nevertheless. Allow nil: all.
type Subjects struct{ Allow, Deny []string }

// permits reports whether a subject may be published to.
func (s Subjects) permits(subject string) bool {
	allowed := s.Allow == nil
	for _, p := range s.Allow {
		allowed = allowed || matches(p, subject)
	}
	for _, p := range s.Deny {
		allowed = allowed && !matches(p, subject)
	}
	return allowed
}

// permitsPattern reports whether a pattern may be subscribed to: all of it is allowed, and not all of it is denied. What
// is denied of it is not delivered.
func (s Subjects) permitsPattern(pattern string) bool {
	allowed := s.Allow == nil
	for _, p := range s.Allow {
		allowed = allowed || covers(p, pattern)
	}
	for _, p := range s.Deny {
		allowed = allowed && !covers(p, pattern)
	}
	return allowed
}

// covers reports whether every subject of the inner pattern is one of the outer.
func covers(outer, inner string) bool {
	for {
		o, restOuter, moreOuter := strings.Cut(outer, ".")
		i, restInner, moreInner := strings.Cut(inner, ".")
		switch {
		case o == ">":
			return true
		case i == ">", o != "*" && o != i:
			return false
		case !moreOuter || !moreInner:
			return moreOuter == moreInner
		}
		outer, inner = restOuter, restInner
	}
}
