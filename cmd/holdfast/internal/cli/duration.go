package cli

import (
	"errors"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/messages"
)

// Duration is the value of a flag: a duration in whole milliseconds within bounds.
type Duration struct {
	time.Duration
	min, max time.Duration // inclusive
	// given is the value as the user wrote it; empty for the default.
	given string
}

// NewDuration returns a duration with a default and inclusive bounds.
func NewDuration(value, minimum, maximum time.Duration) Duration {
	return Duration{Duration: value, min: minimum, max: maximum}
}

// Set implements [pflag.Value].
func (d *Duration) Set(text string) error {
	value, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return errors.New("a duration such as 30s, 1m30s or 500ms")
	case value < d.min || value > d.max:
		return errors.New(d.Bounds())
	case value%time.Millisecond != 0:
		return errors.New("whole milliseconds")
	}
	d.Duration, d.given = value, text
	return nil
}

// Bounds names the shortest and the longest duration.
func (d *Duration) Bounds() string { return display.Duration(d.min) + " to " + display.Duration(d.max) }

// Type implements [pflag.Value].
func (d *Duration) Type() string { return "DURATION" }

// String implements [pflag.Value]. It returns the value as the user wrote it.
func (d *Duration) String() string {
	switch {
	case d.given != "":
		return d.given
	case d.Duration == 0:
		return ""
	}
	return display.Duration(d.Duration)
}

// Millis is how the contract writes it.
func (d *Duration) Millis() uint32 { return uint32(d.Milliseconds()) }

// Millis is how the contract writes a duration.
func Millis(ms uint32) time.Duration { return time.Duration(ms) * time.Millisecond }

// LongestWait is the maximum of --wait.
const LongestWait = 365 * 24 * time.Hour

// TTL returns the flag value for the duration of a lease. The default is that of the clients.
func TTL() Duration {
	return NewDuration(30*time.Second, Millis(messages.MinTTLMillis), Millis(messages.MaxTTLMillis))
}
