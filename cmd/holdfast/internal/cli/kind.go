package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/holdfast-io/holdfast/messages"
)

// Kind returns what a lease or a waiting request is in few words: "exclusive", "shared", or "2 of 5" permits.
func Kind(limit uint32, permits int) string {
	switch {
	case limit <= 1:
		return "exclusive"
	case limit == math.MaxUint32 && permits <= 1:
		return "shared"
	case limit == math.MaxUint32:
		return fmt.Sprintf("shared by %d", permits)
	}
	return fmt.Sprintf("%d of %d", permits, limit)
}

// KindOf returns the [Kind] of a lease.
func KindOf(l *messages.Lease) string { return Kind(l.GetLimit(), len(l.GetSlots())) }

// KindOfWaiter returns the [Kind] of a waiting request.
func KindOfWaiter(w *messages.Waiter) string { return Kind(w.GetLimit(), int(w.GetPermits())) }

// Tokens returns the tokens of a lease that has n of them: "5", or of a block "5-104". 0: one.
func Tokens[T ~uint64](first T, n uint32) string {
	if n <= 1 {
		return strconv.FormatUint(uint64(first), 10)
	}
	return fmt.Sprintf("%d-%d", uint64(first), uint64(messages.Token(first).Last(n)))
}

// NamedTokens returns the [Tokens] behind their name: "token 5".
func NamedTokens[T ~uint64](first T, n uint32) string {
	if n <= 1 {
		return "token " + Tokens(first, n)
	}
	return "tokens " + Tokens(first, n)
}

// Slots returns the numbers of permits, with runs shortened: "0,3-7".
func Slots[T int | uint32](numbers []T) string {
	var b strings.Builder
	for i := 0; i < len(numbers); {
		end := i
		for end+1 < len(numbers) && numbers[end+1] == numbers[end]+1 {
			end++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, numbers[i])
		if end > i {
			fmt.Fprint(&b, "-", numbers[end])
		}
		i = end + 1
	}
	return b.String()
}
