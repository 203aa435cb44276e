package main

import (
	"errors"
	"slices"
	"strings"
)

// choice is a flag's value: one of a few words.
type choice struct {
	word  string
	words []string
}

// Set takes one of the words.
func (c *choice) Set(text string) error {
	if !slices.Contains(c.words, text) {
		return errors.New(c.list())
	}
	c.word = text
	return nil
}

// Type is what help calls such a value.
func (c *choice) Type() string { return "WORD" }

// String returns the word.
func (c *choice) String() string { return c.word }

// list says what there is to choose: "text or json".
func (c *choice) list() string {
	last := len(c.words) - 1
	return strings.Join(c.words[:last], ", ") + " or " + c.words[last]
}
