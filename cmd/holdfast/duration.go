package main

import (
	"errors"
	"fmt"
	"time"
)

// duration is a flag's value: whole milliseconds, as in the contract, within bounds.
type duration struct {
	time.Duration
	least, most time.Duration
	// given is the value as the user wrote it; empty for the default.
	given string
}

func newDuration(value, least, most time.Duration) duration {
	return duration{Duration: value, least: least, most: most}
}

// Set reads a duration as people write it.
func (d *duration) Set(text string) error {
	value, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return errors.New("a duration such as 30s, 1m30s or 500ms")
	case value < d.least || value > d.most:
		return fmt.Errorf("%s to %s", readable(d.least), readable(d.most))
	case value%time.Millisecond != 0:
		return errors.New("whole milliseconds")
	}
	d.Duration, d.given = value, text
	return nil
}

// Type is what help calls such a value.
func (d *duration) Type() string { return "DURATION" }

// String returns the value as the user wrote it, or as help shows a default.
func (d *duration) String() string {
	switch {
	case d.given != "":
		return d.given
	case d.Duration == 0:
		return ""
	}
	return readable(d.Duration)
}

// millis is how the contract writes it.
func (d *duration) millis() uint32 { return uint32(d.Milliseconds()) }
