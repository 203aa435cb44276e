package cli

import (
	"errors"
	"fmt"
	"strconv"
)

// Number is the value of a flag: a whole number within bounds.
type Number struct {
	Value       int
	least, most int
}

// NewNumber returns a number with a default and inclusive bounds.
func NewNumber(value, least, most int) Number {
	return Number{Value: value, least: least, most: most}
}

// Set implements [pflag.Value].
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

// Type implements [pflag.Value].
func (n *Number) Type() string { return "NUMBER" }

// String implements [pflag.Value].
func (n *Number) String() string { return strconv.Itoa(n.Value) }
