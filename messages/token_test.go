package messages_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/blindtest"
)

func TestTokenString(t *testing.T) {
	for token, want := range map[messages.Token]string{
		0:                  "000000000000000",
		5:                  "000000000000005",
		messages.WarnToken: "090000000000000",
		messages.MaxToken:  "900000000000000",
		math.MaxUint64:     "18446744073709551615",
	} {
		if got := token.String(); got != want {
			t.Errorf("%d: %q, want %q", uint64(token), got, want)
		}
	}
}

func TestLastToken(t *testing.T) {
	for n, want := range map[uint32]messages.Token{0: 5, 1: 5, 100: 104} {
		if got := messages.Token(5).Last(n); got != want {
			t.Errorf("the last of %d tokens from 5 on is %d, want %d", n, got, want)
		}
	}
}

func TestIllegalToken(t *testing.T) {
	for s, want := range map[string]string{
		"":                 `token: 15 digits, got ""`,
		"5":                `token: 15 digits, got "5"`,
		"00000000000005":   `token: 15 digits, got "00000000000005"`,
		"0000000000000005": `token: 15 digits, got "0000000000000005"`,
		"+00000000000005":  `token: 15 digits, got "+00000000000005"`,
		"-00000000000005":  `token: 15 digits, got "-00000000000005"`,
		" 00000000000005":  `token: 15 digits, got " 00000000000005"`,
		"0000_0000_00005":  `token: 15 digits, got "0000_0000_00005"`,
		"0x0000000000005":  `token: 15 digits, got "0x0000000000005"`,
		"00000000000000\n": `token: 15 digits, got "00000000000000\n"`,
		"\u0665\u0665\u0665\u0665\u0665\u0665\u06655": `token: 15 digits, got "٥٥٥٥٥٥٥5"`,
		"000000000000000": `token: 1 to 900000000000000, got "000000000000000"`,
		"900000000000001": `token: 1 to 900000000000000, got "900000000000001"`,
		"999999999999999": `token: 1 to 900000000000000, got "999999999999999"`,
	} {
		token, err := messages.ParseToken(s)
		wantInvalid(t, err, want)
		if token != 0 {
			t.Errorf("ParseToken(%q) = %v beside the error", s, token)
		}
	}
}

func TestTokenRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := tokens().Draw(t, "a"), tokens().Draw(t, "b")
		if got, err := messages.ParseToken(a.String()); err != nil || got != a {
			t.Fatalf("ParseToken(%q) = %v, %v", a.String(), got, err)
		}
		if (a < b) != (a.String() < b.String()) {
			t.Fatalf("%d and %d are not in the order of %q and %q", a, b, a.String(), b.String())
		}
	})
}

// Each token is exact in a float64, which some JSON libraries use.
func TestTokensAreExactFloats(t *testing.T) {
	if messages.MaxToken >= 1<<53 {
		t.Errorf("%d is not exact", messages.MaxToken)
	}
}

func FuzzToken(f *testing.F) {
	target := blindtest.New(f)
	for _, seed := range []string{"000000000000001", "900000000000000", "900000000000001", "000000000000000", "5",
		"+00000000000001"} {
		target.Add(seed)
	}
	target.Fuzz(func(t *testing.T, s string) {
		token, err := messages.ParseToken(s)
		if err != nil {
			checkInvalid(t, err)
			return
		}
		if token < 1 || token > messages.MaxToken || token.String() != s {
			t.Errorf("ParseToken(%q) = %d, which is written %q", s, token, token)
		}
	})
}

func tokens() *rapid.Generator[messages.Token] {
	return rapid.Map(rapid.Uint64Range(1, uint64(messages.MaxToken)), func(n uint64) messages.Token {
		return messages.Token(n)
	})
}
