// Package exit gives errors the exit code with which the process ends.
package exit

import (
	"errors"
	"fmt"
)

// The exit codes. Scripts rely on them; they are as stable as the contract.
const (
	Done        = 0 // success; get also exits with it if the resource is held or held back
	Unexpected  = 1 // any other error
	Usage       = 2 // wrong usage, or INVALID: the same command will never succeed
	Held        = 3 // HELD, HELD_BACK, TIMEOUT, CANCELLED: not to be had now; deadlocks or doctor found some
	Lost        = 4 // EXPIRED, NOT_HELD, NOT_OWNER, STALE_TOKEN, RELEASED to acquire: not held by this owner
	Unavailable = 5 // UNAVAILABLE, OVERLOADED, EXHAUSTED, no server, no node: nothing happened
	Unknown     = 6 // no answer: the outcome is unknown
)

// Error is an error with an exit code. Without Err it has been reported already.
type Error struct {
	Code int
	Err  error
}

// Error implements error.
func (f *Error) Error() string {
	if f.Err == nil {
		return fmt.Sprintf("exit code %d", f.Code)
	}
	return f.Err.Error()
}

// Unwrap returns Err.
func (f *Error) Unwrap() error { return f.Err }

// Errorf returns an error with an exit code.
func Errorf(code int, format string, args ...any) error {
	return &Error{Code: code, Err: fmt.Errorf(format, args...)}
}

// CodeOf returns the exit code for the error of a command.
func CodeOf(err error) int {
	switch f, is := errors.AsType[*Error](err); {
	case err == nil:
		return Done
	case is:
		return f.Code
	}
	return Unexpected
}

// Message returns the message for the error of a command; empty if it has been reported.
func Message(err error) string {
	if f, is := errors.AsType[*Error](err); err == nil || is && f.Err == nil {
		return ""
	}
	return err.Error()
}

// Usagef returns an error of the command line. It names the mistake, the rule and the correction.
func Usagef(format string, args ...any) error { return Errorf(Usage, format, args...) }
