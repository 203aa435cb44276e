package cli

import (
	"errors"
	"fmt"
	"strconv"
)

// Number is a flag's value: a whole number within bounds.
type Number struct {
	Value       int
	least, most int
}

// NewNumber returns a number with a default and inclusive bounds.
func NewNumber(value, least, most int) Number {
	return Number{Value: value, least: least, most: most}
}

// Set reads a number.
func (n *Number) Set(text string) error {
	value, err := strconv.Atoi(text)
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		return errors.New("a whole number")
	case err != nil || value < n.least || value > n.most:
		return fmt.Errorf("%d to %d", n.least, n.most)
	}
	n.Value = value
	return nil
}

// Type is what help calls such a value.
func (n *Number) Type() string { return "NUMBER" }

// String returns the value as help shows a default.
func (n *Number) String() string { return strconv.Itoa(n.Value) }
