package cli

import (
	"errors"
	"strings"
)

// Metadata is a flag's value: one KEY=VALUE each time the flag is given.
type Metadata map[string]string

// Set adds one entry. All behind the first "=" is the value, commas and further "=" included.
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

// Type is what help calls such a value.
func (m Metadata) Type() string { return "KEY=VALUE" }

// String returns nothing: there is no default to show.
func (m Metadata) String() string { return "" }
