package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-io/holdfast/messages"
)

// The exit codes, by which scripts tell outcomes apart. They are as stable as the contract.
const (
	exitDone        = 0 // done; get exits so whether the resource is held or free
	exitUnexpected  = 1 // an error that no other code stands for
	exitUsage       = 2 // wrong usage, or INVALID: the same command will never succeed
	exitHeld        = 3 // HELD, TIMEOUT, CANCELLED: somebody else has it
	exitLost        = 4 // EXPIRED, NOT_HELD, NOT_OWNER, STALE_TOKEN, RELEASED to acquire: it is not yours, or no more
	exitUnavailable = 5 // UNAVAILABLE, OVERLOADED, EXHAUSTED, no server, no node: nothing happened
	exitUnknown     = 6 // no answer: it may have happened
)

const exitTopic = `The exit code tells a script what came of a command:

  0  done; get exits so whether the resource is held or free
  1  an error that no other code stands for
  2  wrong usage, or INVALID: the same command will never succeed
  3  held by somebody: HELD, TIMEOUT, CANCELLED
  4  lost, or never yours: EXPIRED, NOT_HELD, NOT_OWNER, STALE_TOKEN;
     RELEASED to acquire
  5  unavailable, and nothing happened: UNAVAILABLE, OVERLOADED, EXHAUSTED,
     no NATS server, no Holdfast node
  6  no answer: it may have happened; ask with get, or send it again with
     the same --request-id

lock exits as its command does, with 128+N if signal N ended it, and with 126 or
127 if it cannot be run. 3, 4 and 5 can be changed: --busy-code, --lost-code and
--unavailable-code.

With --json every answer of a node is printed to standard output, whatever the
exit code; when there was none, nothing is.`

// failure is an error with an exit code of its own. Without err all has been said already.
type failure struct {
	code int
	err  error
}

// Error returns what is left to be said, which may be nothing.
func (f *failure) Error() string {
	if f.err == nil {
		return fmt.Sprintf("exit code %d", f.code)
	}
	return f.err.Error()
}

// Unwrap returns the error behind the code.
func (f *failure) Unwrap() error { return f.err }

func fail(code int, format string, args ...any) error {
	return &failure{code: code, err: fmt.Errorf(format, args...)}
}

// exitCode returns the exit code of a command that ended so.
func exitCode(err error) int {
	var f *failure
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &f):
		return f.code
	}
	return exitUnexpected
}

// complaint returns what is to be said of a command that ended so; empty if nothing is.
func complaint(err error) string {
	var f *failure
	if err == nil || errors.As(err, &f) && f.err == nil {
		return ""
	}
	return err.Error()
}

// exitOf returns the exit code of an answer.
func exitOf(op messages.Operation, s messages.Status) int {
	if isOver(op, s) {
		return exitLost
	}
	switch s {
	case messages.Status_GRANTED, messages.Status_EXTENDED, messages.Status_RELEASED, messages.Status_FREE:
		return exitDone
	case messages.Status_HELD:
		if op == messages.OpGet {
			return exitDone
		}
		return exitHeld
	case messages.Status_TIMEOUT, messages.Status_CANCELLED:
		return exitHeld
	case messages.Status_EXPIRED, messages.Status_NOT_HELD, messages.Status_NOT_OWNER, messages.Status_STALE_TOKEN:
		return exitLost
	case messages.Status_INVALID:
		return exitUsage
	case messages.Status_OVERLOADED, messages.Status_UNAVAILABLE, messages.Status_EXHAUSTED:
		return exitUnavailable
	}
	return exitUnexpected
}

func newExitTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long:  strings.TrimSpace(exitTopic),
	}
}
