package main

import (
	"fmt"
	"strconv"

	"github.com/holdfast-io/holdfast/messages"
)

// token is a flag's value: a fencing token, as a number or as the 15 digits of a fence.
type token messages.Token

// Set reads a token. An empty one is refused: it is what a script has that failed to get one.
func (t *token) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || messages.Token(n) > messages.MaxToken {
		return fmt.Errorf("a number up to %d, or the 15 digits of a fence", uint64(messages.MaxToken))
	}
	*t = token(n)
	return nil
}

// Type is what help calls such a value.
func (t *token) Type() string { return "TOKEN" }

// String returns the value as help shows a default.
func (t *token) String() string { return strconv.FormatUint(uint64(*t), 10) }
