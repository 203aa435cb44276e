package messages

import "strings"

// Pattern selects keys as a NATS subscription selects subjects: `*` matches one whole level, `>` at the
// end matches one or more. The zero Pattern is ">" and selects every key.
type Pattern struct {
	text string
}

// ParsePattern parses a pattern; the empty string means ">". It returns an [InvalidError] if a wildcard
// is not a whole level, if `>` is not the last level, or if another level is not written as in a key
// (`=3A` for a colon), so that no key could match.
func ParsePattern(s string) (Pattern, error) {
	if s == "" {
		return Pattern{}, nil
	}
	if _, err := DecodeKey(exampleKey(s)); err != nil {
		return Pattern{}, Invalid("pattern", "a key in which * is one level and > the rest", quote(s))
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

// String returns the text of the pattern, ">" for the zero Pattern.
func (p Pattern) String() string {
	if p.text == "" {
		return ">"
	}
	return p.text
}

// exampleKey replaces each wildcard by the level "x". The pattern is valid if the result is a key: a
// misplaced wildcard stays, and no key contains one.
func exampleKey(pattern string) string {
	levels := strings.Split(pattern, ".")
	for i, level := range levels {
		if level == "*" || level == ">" && i == len(levels)-1 {
			levels[i] = "x"
		}
	}
	return strings.Join(levels, ".")
}
