package cli

import (
	"errors"
	"fmt"
	"strconv"
)

// Number is the value of a flag: a whole number within bounds.
type Number struct {
	Value    int
	min, max int // inclusive
}

// NewNumber returns a number with a default and inclusive bounds.
func NewNumber(value, minimum, maximum int) Number {
	return Number{Value: value, min: minimum, max: maximum}
}

// Set implements [pflag.Value].
func (n *Number) Set(text string) error {
	value, err := strconv.Atoi(text)
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		return errors.New("a whole number")
	case err != nil || value < n.min || value > n.max:
		return errors.New(n.Bounds())
	}
	n.Value = value
	return nil
}

// Bounds names the least and the greatest value.
func (n *Number) Bounds() string { return fmt.Sprintf("%d to %d", n.min, n.max) }

// Type implements [pflag.Value].
func (n *Number) Type() string { return "NUMBER" }

// String implements [pflag.Value].
func (n *Number) String() string { return strconv.Itoa(n.Value) }
