//go:build unix

package lock

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
)

// exitSignal is the exit code of shells for a command that a signal has ended, plus the number of the signal.
const exitSignal = 128

// codes are the exit codes of lock itself. The command may use the same codes, so flags can change them.
type codes struct {
	busy, lost, unavailable cli.Number
	flags                   *pflag.FlagSet // for the flag names in an error message
}

func newCodes() codes {
	return codes{
		busy:        cli.NewNumber(exit.Held, 0, 255),
		lost:        cli.NewNumber(exit.Lost, 0, 255),
		unavailable: cli.NewNumber(exit.Unavailable, 0, 255),
	}
}

func (c *codes) addTo(f *pflag.FlagSet) {
	f.Var(&c.busy, "busy-code", "when another owner holds the lock; the command was not run")
	f.Var(&c.lost, "lost-code", "when the lock was lost, instead of the command's exit code")
	f.Var(&c.unavailable, "unavailable-code", "when no node answered; the command was not run")
}

// of returns the error, with its exit code, when the command was not run.
func (c *codes) of(err error) error {
	var refusal *holdfast.Error
	errors.As(err, &refusal)
	switch {
	case errors.Is(err, holdfast.ErrHeld) && refusal.Lost != nil:
		return exit.Errorf(c.busy.Value, "%s is %s", display.Name(refusal.Lost.Resource), heldBack(refusal.Lost))
	case errors.Is(err, holdfast.ErrHeld) && refusal.Holder != nil:
		h := refusal.Holder
		return exit.Errorf(c.busy.Value, "held: %s by %s, token %d, %s left", display.Name(h.Resource),
			display.Quote(h.Owner), h.Token, display.Duration(h.Remaining))
	case errors.Is(err, holdfast.ErrTimeout):
		return exit.Errorf(c.busy.Value, "timed out: %s did not become free in time", display.Name(refusal.Resource))
	case isLost(err):
		return exit.Errorf(c.lost.Value, "%s; the command was not run", display.Plain(err))
	case errors.Is(err, holdfast.ErrInvalid), exit.CodeOf(err) == exit.Usage:
		return exit.Usagef("%s", cli.Refusal(display.Plain(err), c.flags))
	}
	return exit.Errorf(c.unavailable.Value, "%s", display.Plain(err))
}

func isLost(err error) bool { return errors.Is(err, holdfast.ErrLost) }
