package cli

import (
	"errors"
	"slices"
	"strings"
)

// Choice is the value of a flag: one of a few words.
type Choice struct {
	Word  string
	Words []string
}

// NewChoice returns a choice among words. word is the default and one of them.
func NewChoice(word string, words ...string) Choice { return Choice{Word: word, Words: words} }

// Set implements [pflag.Value].
func (c *Choice) Set(text string) error {
	if !slices.Contains(c.Words, text) {
		return errors.New(c.List())
	}
	c.Word = text
	return nil
}

// Type implements [pflag.Value].
func (c *Choice) Type() string { return "WORD" }

// String implements [pflag.Value].
func (c *Choice) String() string { return c.Word }

// List returns the words as in "text or json".
func (c *Choice) List() string {
	last := len(c.Words) - 1
	return strings.Join(c.Words[:last], ", ") + " or " + c.Words[last]
}
