package hostile

import (
	"math/rand/v2"
	"strings"
)

// dice make the choices of one connection. They depend on the seed and the number of the connection alone.
type dice struct {
	*rand.Rand
	// period is the same for some hundred connections that follow one another.
	period uint64
}

func newDice(seed, number uint64) dice {
	return dice{rand.New(rand.NewPCG(seed, number)), number / 500}
}

// one returns one of the values.
func one[T any](d dice, of ...T) T { return of[d.IntN(len(of))] }

// chance is true in that percentage of cases.
func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

// bytes returns n bytes of any kind.
func (d dice) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(d.Uint32())
	}
	return b
}

// text returns n printable characters without a space.
func (d dice) text(n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte('!' + byte(d.IntN('~'-'!')))
	}
	return b.String()
}

// mutated returns a changed copy of b, one change or more.
func (d dice) mutated(b []byte) []byte {
	b = append([]byte(nil), b...)
	for range 1 + d.IntN(4) {
		at := d.IntN(len(b) + 1)
		switch part := d.part(); {
		case len(b) == 0 || at == len(b) || d.chance(25):
			b = append(b[:at:at], append(part, b[at:]...)...)
		case d.chance(30):
			b[at] ^= 1 << d.IntN(8)
		case d.chance(40):
			b = append(b[:at:at], b[min(len(b), at+1+d.IntN(8)):]...)
		case d.chance(50):
			b = b[:at]
		default:
			b = append(b[:at:at], append(append([]byte(nil), b[at:min(len(b), at+d.IntN(64))]...), b[at:]...)...)
		}
	}
	return b
}

// part is a piece that decoders treat in a way of their own.
func (d dice) part() []byte {
	return []byte(one(d, ".", "..", "*", ">", "$", "=2E", "=C3=A9", "=", " ", "\x00", "\x7f", "\xff", "\r\n", "e\u0301",
		"\u202e", "0", "-1", "18446744073709551615",
		"4294967296", "{", "}", "[[[[", `"`, ":", ",", "null", "1e400", `\u0000`, "\x0a\xff\xff\xff\xff\x0f",
		"\x12\x00", "~", "/", "#", "holdfast.", "_R_.", "shard.99."))
}
