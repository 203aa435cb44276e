package cli

import (
	"errors"
	"slices"
	"strings"
)

// Choice is a flag's value: one of a few words.
type Choice struct {
	Word  string
	Words []string
}

// NewChoice returns a choice among words. The first argument is the default.
func NewChoice(word string, words ...string) Choice { return Choice{Word: word, Words: words} }

// Set takes one of the words.
func (c *Choice) Set(text string) error {
	if !slices.Contains(c.Words, text) {
		return errors.New(c.List())
	}
	c.Word = text
	return nil
}

// Type is what help calls such a value.
func (c *Choice) Type() string { return "WORD" }

// String returns the word.
func (c *Choice) String() string { return c.Word }

// List says what there is to choose: "text or json".
func (c *Choice) List() string {
	last := len(c.Words) - 1
	return strings.Join(c.Words[:last], ", ") + " or " + c.Words[last]
}
