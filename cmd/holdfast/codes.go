//go:build unix

package main

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// The exit codes of shells for a command that cannot be started, and for one that a signal has ended.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
	exitSignal        = 128 // and the signal's number on top
)

// codes are the exit codes of lock that a command may have as well, so that the user chooses others.
type codes struct {
	busy, lost, unavailable number
	flags                   *pflag.FlagSet // in whose words a refusal is told
}

func newCodes() codes {
	return codes{
		busy:        number{exitHeld, 0, 255},
		lost:        number{exitLost, 0, 255},
		unavailable: number{exitUnavailable, 0, 255},
	}
}

func (c *codes) addTo(f *pflag.FlagSet) {
	f.Var(&c.busy, "busy-code", "when somebody else holds the lock")
	f.Var(&c.lost, "lost-code", "when the lock was lost, whatever became of the command")
	f.Var(&c.unavailable, "unavailable-code", "when nobody could say; the command was not run")
}

// of returns the error with which to exit when the command was not run.
func (c *codes) of(err error) error {
	var refusal *holdfast.Error
	errors.As(err, &refusal)
	switch {
	case errors.Is(err, holdfast.ErrHeld) && refusal.Holder != nil:
		h := refusal.Holder
		return fail(c.busy.value, "held: %s by %s, token %d, %s left", shown(h.Resource), quoted(h.Owner), h.Token, readable(h.Remaining))
	case errors.Is(err, holdfast.ErrTimeout):
		return fail(c.busy.value, "timed out: %s did not become free in time", shown(refusal.Resource))
	case isLost(err):
		return fail(c.lost.value, "%s; the command was not run", plain(err))
	case errors.Is(err, holdfast.ErrInvalid), exitCode(err) == exitUsage:
		return usage("%s", inFlags(plain(err), c.flags))
	}
	return fail(c.unavailable.value, "%s", plain(err))
}

func isLost(err error) bool { return errors.Is(err, holdfast.ErrLost) }
