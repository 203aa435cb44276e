package messages

import "strconv"

// Headers by which a lease is known outside requests and replies.
const (
	// HeaderToken carries the token to the protected resource, over NATS and HTTP alike, and with
	// every event. Its value is [Token.String].
	HeaderToken = "Fencing-Token"
	// HeaderResource says to which resource the token belongs.
	HeaderResource = "Fencing-Resource"
	// HeaderEvent carries the kind of an event: ACQUIRED.
	HeaderEvent = "Holdfast-Event"
)

const (
	// MaxToken is the last token of a resource; after it every acquire answers EXHAUSTED. It leaves
	// room in the 15 digits of a fence, and every number up to it is exact in a float64, as which
	// some languages read JSON.
	MaxToken Token = 900_000_000_000_000
	// WarnToken is where warnings begin: a tenth of MaxToken. Counted honestly, a thousand grants a
	// second take three thousand years to get here, so something else is wrong.
	WarnToken Token = 90_000_000_000_000
)

// fenceDigits makes text order numeric order.
const fenceDigits = 15

// Token counts the grants of one resource, from 1; it never goes back. The zero Token means none, and
// in a request whatever the owner holds.
type Token uint64

// ParseToken reads the form that [Token.String] writes, and no other. It is an [InvalidError] unless
// s is 15 digits for 1 to [MaxToken].
func ParseToken(s string) (Token, error) {
	if len(s) != fenceDigits {
		return 0, invalid("token", "15 digits", quote(s))
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, invalid("token", "15 digits", quote(s))
	}
	if n == 0 || Token(n) > MaxToken {
		return 0, invalid("token", rangeRule(1, uint64(MaxToken)), quote(s))
	}
	return Token(n), nil
}

// String returns the token as a fence: 15 zero-padded digits, so that text order is numeric order.
func (t Token) String() string {
	digits := strconv.FormatUint(uint64(t), 10)
	if missing := fenceDigits - len(digits); missing > 0 {
		return "000000000000000"[:missing] + digits
	}
	return digits
}
