package cli

import (
	"fmt"
	"strconv"

	"github.com/holdfast-io/holdfast/messages"
)

// Token is the value of a flag: a fencing token, as a number or as the 15 digits of a fence.
type Token messages.Token

// Set implements [pflag.Value]. It refuses an empty token, which a script has after a failed acquire.
func (t *Token) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || messages.Token(n) > messages.MaxToken {
		return fmt.Errorf("a number up to %d, or the 15 digits of a fence", uint64(messages.MaxToken))
	}
	*t = Token(n)
	return nil
}

// Type implements [pflag.Value].
func (t *Token) Type() string { return "TOKEN" }

// String implements [pflag.Value].
func (t *Token) String() string { return strconv.FormatUint(uint64(*t), 10) }
