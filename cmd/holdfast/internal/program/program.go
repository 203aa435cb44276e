//go:build unix

// Package program finds and starts the programs that a command of holdfast runs.
package program

import (
	"errors"
	"io/fs"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
)

// The exit codes of shells for a program that cannot be started.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// Split returns the arguments of a command before the first "--", which are named by noun, and the words of the program
// behind it. example is a correct command line, for an error.
func Split(cmd *cobra.Command, args []string, noun, example string) (before, words []string, err error) {
	missing := ""
	switch dash := cmd.ArgsLenAtDash(); {
	case len(args) == 0 || dash == 0:
		missing = "name the " + noun
	case dash < 0:
		missing = "put -- before the command"
	case dash == len(args):
		missing = "name the command after --"
	default:
		return args[:dash], args[dash:], nil
	}
	return nil, nil, exit.Usagef("%s, as in: %s %s", missing, cmd.CommandPath(), example)
}

// Find looks the program up in PATH, as a shell does. The error has the exit code of a shell.
func Find(name string) (path string, err error) {
	path, err = exec.LookPath(name)
	if err != nil && !errors.Is(err, exec.ErrDot) { // PATH may contain the current directory on purpose
		return "", CannotRun(name, err)
	}
	return path, nil
}

// CannotRun returns the error of a program that cannot be started, with the exit code of a shell.
func CannotRun(name string, err error) error {
	if search, is := errors.AsType[*exec.Error](err); is {
		err = search.Err
	}
	code := exitNotExecutable
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
		code = exitNotFound
	}
	return exit.Errorf(code, "cannot run %s: %w", display.Name(name), settings.RootCause(err))
}
