package cli

import (
	"fmt"
	"strconv"

	"github.com/holdfast-io/holdfast/messages"
)

// Token is a flag's value: a fencing token, as a number or as the 15 digits of a fence.
type Token messages.Token

// Set reads a token. An empty one is refused: it is what a script has that failed to get one.
func (t *Token) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || messages.Token(n) > messages.MaxToken {
		return fmt.Errorf("a number up to %d, or the 15 digits of a fence", uint64(messages.MaxToken))
	}
	*t = Token(n)
	return nil
}

// Type is what help calls such a value.
func (t *Token) Type() string { return "TOKEN" }

// String returns the value as help shows a default.
func (t *Token) String() string { return strconv.FormatUint(uint64(*t), 10) }
