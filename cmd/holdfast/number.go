package main

import (
	"errors"
	"fmt"
	"strconv"
)

// number is a flag's value: a whole number within bounds.
type number struct {
	value, least, most int
}

// Set reads a number.
func (n *number) Set(text string) error {
	value, err := strconv.Atoi(text)
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		return errors.New("a whole number")
	case err != nil || value < n.least || value > n.most:
		return fmt.Errorf("%d to %d", n.least, n.most)
	}
	n.value = value
	return nil
}

// Type is what help calls such a value.
func (n *number) Type() string { return "NUMBER" }

// String returns the value as help shows a default.
func (n *number) String() string { return strconv.Itoa(n.value) }
