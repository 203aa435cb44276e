package cli

import (
	"errors"
	"strings"
)

// Metadata is the value of a flag that may be repeated, each time with a KEY=VALUE.
type Metadata map[string]string

// Set adds an entry. Everything after the first "=" is its value.
func (m Metadata) Set(text string) error {
	key, value, ok := strings.Cut(text, "=")
	if !ok || key == "" {
		return errors.New("KEY=VALUE")
	}
	if _, twice := m[key]; twice {
		return errors.New("each key once")
	}
	m[key] = value
	return nil
}

// Type implements [pflag.Value].
func (m Metadata) Type() string { return "KEY=VALUE" }

// String implements [pflag.Value]. Help shows no default.
func (m Metadata) String() string { return "" }
