package messages

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// ErrInvalid matches every [InvalidError]: the request breaks a rule and had no effect, and repeating it
// cannot succeed.
var ErrInvalid = errors.New("invalid")

// maxQuotedBytes bounds how much of an untrusted value a message or a log shows.
const maxQuotedBytes = 64

// InvalidError names the rule that a request breaks. It wraps [ErrInvalid].
type InvalidError struct {
	Field string // in the contract's spelling: "owner"
	Rule  string // what is valid: "1 to 256 bytes"
	Got   string // the value found, short and safe to print; empty if Rule is enough
}

// Error returns one line: "owner: 1 to 256 bytes, got 300 bytes".
func (e *InvalidError) Error() string {
	if e.Got == "" {
		return e.Field + ": " + e.Rule
	}
	return e.Field + ": " + e.Rule + ", got " + e.Got
}

// Unwrap returns [ErrInvalid].
func (e *InvalidError) Unwrap() error {
	return ErrInvalid
}

// Invalid returns an [InvalidError] as an error, so that no nil pointer becomes one.
func Invalid(field, rule, got string) error {
	return &InvalidError{Field: field, Rule: rule, Got: got}
}

const textRule = "UTF-8 without control characters"

func sizeRule(minimum, maximum uint64) string {
	return rangeRule(minimum, maximum) + " bytes"
}

func rangeRule(minimum, maximum uint64) string {
	if minimum == 0 {
		return fmt.Sprintf("at most %d", maximum)
	}
	return fmt.Sprintf("%d to %d", minimum, maximum)
}

func byteCount(s string) string {
	return strconv.Itoa(len(s)) + " bytes"
}

// quote quotes an untrusted value, shortened, so that it is safe on terminals and in logs.
func quote(s string) string {
	if len(s) <= maxQuotedBytes {
		return strconv.Quote(s)
	}
	return fmt.Sprintf("%q... (%d bytes)", excerpt(s), len(s))
}

// excerpt returns the beginning of s, cut between characters.
func excerpt(s string) string {
	if len(s) <= maxQuotedBytes {
		return s
	}
	end := maxQuotedBytes
	for end > maxQuotedBytes-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}
