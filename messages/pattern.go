package messages

import "strings"

// Pattern selects keys by level, as a NATS subscription selects subjects: `*` stands for one whole
// level, `>` at the end for one or more. The zero Pattern is ">" and selects every key.
type Pattern struct {
	text string
}

// ParsePattern reads a pattern; empty means ">". It is an [InvalidError] if a wildcard is not a whole
// level, if `>` is not the last one, or if no key could match because of how its other levels are
// written: those stand as in a key, `=3A` for a colon.
func ParsePattern(s string) (Pattern, error) {
	if s == "" {
		return Pattern{}, nil
	}
	if _, err := DecodeKey(exampleKey(s)); err != nil {
		return Pattern{}, invalid("pattern", "a key in which * is one level and > the rest", quote(s))
	}
	return Pattern{text: s}, nil
}

// Matches reports whether the pattern selects the key.
func (p Pattern) Matches(key string) bool {
	rest := p.String()
	for {
		want, wantRest, wantMore := strings.Cut(rest, ".")
		if want == ">" {
			return key != ""
		}
		level, keyRest, keyMore := strings.Cut(key, ".")
		if level == "" || (want != "*" && want != level) || wantMore != keyMore {
			return false
		}
		if !wantMore {
			return true
		}
		rest, key = wantRest, keyRest
	}
}

// String returns the pattern as it was written, ">" for an empty one.
func (p Pattern) String() string {
	if p.text == "" {
		return ">"
	}
	return p.text
}

// exampleKey returns what the pattern selects when each wildcard stands for the level "x". A pattern
// is legal when this is a key; a wildcard elsewhere stays, and is in no key.
func exampleKey(pattern string) string {
	levels := strings.Split(pattern, ".")
	for i, level := range levels {
		if level == "*" || level == ">" && i == len(levels)-1 {
			levels[i] = "x"
		}
	}
	return strings.Join(levels, ".")
}
