package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/messages"
)

// Duration is a flag's value: whole milliseconds, as in the contract, within bounds.
type Duration struct {
	time.Duration
	least, most time.Duration
	// given is the value as the user wrote it; empty for the default.
	given string
}

func NewDuration(value, least, most time.Duration) Duration {
	return Duration{Duration: value, least: least, most: most}
}

// Set reads a duration as people write it.
func (d *Duration) Set(text string) error {
	value, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return errors.New("a duration such as 30s, 1m30s or 500ms")
	case value < d.least || value > d.most:
		return fmt.Errorf("%s to %s", display.Duration(d.least), display.Duration(d.most))
	case value%time.Millisecond != 0:
		return errors.New("whole milliseconds")
	}
	d.Duration, d.given = value, text
	return nil
}

// Type is what help calls such a value.
func (d *Duration) Type() string { return "DURATION" }

// String returns the value as the user wrote it, or as help shows a default.
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

func TTL() Duration {
	return NewDuration(15*time.Second, Millis(messages.MinTTLMillis), Millis(messages.MaxTTLMillis))
}
