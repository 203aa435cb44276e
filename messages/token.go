package messages

import "strconv"

// Headers of this contract. All but the last one carry a lease outside requests and replies.
const (
	// HeaderToken carries the token to the protected resource over NATS and HTTP, and is set on every
	// event. Its value is [Token.String].
	HeaderToken = "Fencing-Token"
	// HeaderResource is the resource of the token.
	HeaderResource = "Fencing-Resource"
	// HeaderEvent is the kind of an event: ACQUIRED.
	HeaderEvent = "Holdfast-Event"
	// HeaderGeneration is on the answer to a request on a direct subject of a former generation of shards. Its value is the
	// number of the present one.
	HeaderGeneration = "Holdfast-Generation"
)

const (
	// MaxToken is the last token of a resource; beyond it acquire answers EXHAUSTED. It fits the 15
	// digits of a fence, and all numbers up to it are exact in a float64, which some JSON libraries use.
	MaxToken Token = 900_000_000_000_000
	// WarnToken is the first token that is logged as a warning, a tenth of MaxToken. At a thousand grants a
	// second a resource reaches it after almost three thousand years, so it indicates a fault.
	WarnToken Token = 90_000_000_000_000
)

// fenceDigits makes text order numeric order.
const fenceDigits = 15

// Token counts the grants of one resource from 1 and never decreases. Zero means no token; in a request
// it means the lease that the owner holds, under any token.
type Token uint64

// ParseToken parses the output of [Token.String]. It returns an [InvalidError] unless s is 15 digits for
// 1 to [MaxToken].
func ParseToken(s string) (Token, error) {
	if len(s) != fenceDigits {
		return 0, Invalid("token", "15 digits", quote(s))
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, Invalid("token", "15 digits", quote(s))
	}
	if n == 0 || Token(n) > MaxToken {
		return 0, Invalid("token", rangeRule(1, uint64(MaxToken)), quote(s))
	}
	return Token(n), nil
}

// Last returns the last token of a lease that has n of them, from t on; 0: one.
func (t Token) Last(n uint32) Token { return t + Token(max(n, 1)) - 1 }

// String returns the token as a fence: 15 zero-padded digits, so that text order is numeric order.
func (t Token) String() string {
	digits := strconv.FormatUint(uint64(t), 10)
	if missing := fenceDigits - len(digits); missing > 0 {
		return "000000000000000"[:missing] + digits
	}
	return digits
}
